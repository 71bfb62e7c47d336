-- A start under a rate. Called by claim.
-- Primary key of rate_start.
INSERT INTO rate_start (scope, rate_key, slot, time) VALUES ($1, $2, $3, $4)
ON DUPLICATE KEY UPDATE time = $4
