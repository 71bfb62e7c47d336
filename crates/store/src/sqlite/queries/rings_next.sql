-- When the next rate lets a job go on. Called by claim.
-- Partial index rate_ring_open, its first entry.
SELECT open_at FROM rate_ring INDEXED BY rate_ring_open WHERE open_at IS NOT NULL ORDER BY open_at LIMIT 1
