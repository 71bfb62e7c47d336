-- Rates that let jobs go on by now. Called by claim.
-- Index rate_ring_open, in its order.
SELECT scope, rate_key FROM rate_ring WHERE open_at IS NOT NULL AND open_at <= $1 ORDER BY open_at LIMIT $2
