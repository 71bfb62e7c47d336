-- Rates that let jobs go on by now. Called by claim.
-- Partial index rate_ring_open, in its order.
SELECT scope, key FROM rate_ring INDEXED BY rate_ring_open WHERE open_at IS NOT NULL AND open_at <= ?1
ORDER BY open_at LIMIT ?2
