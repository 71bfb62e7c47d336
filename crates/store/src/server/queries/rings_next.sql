-- When the next rate lets a job go on. Called by claim.
-- Index rate_ring_open, its first entry.
SELECT open_at FROM rate_ring WHERE open_at IS NOT NULL ORDER BY open_at LIMIT 1
