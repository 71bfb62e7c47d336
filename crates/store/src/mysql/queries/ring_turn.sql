-- The slot of the next start. Called by claim.
-- Primary key of rate_ring.
INSERT INTO rate_ring (scope, rate_key, next) VALUES ($1, $2, $3)
ON DUPLICATE KEY UPDATE next = $3
