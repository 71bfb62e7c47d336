-- When the rate lets the next job go on; nothing when none waits. Called by claim.
-- Primary key of rate_ring; moves within rate_ring_open.
UPDATE rate_ring SET open_at = $3 WHERE scope = $1 AND rate_key = $2
