-- Jobs wait for the rate until then. Called by claim.
-- Primary key of rate_ring; enters rate_ring_open.
UPDATE rate_ring SET open_at = least(coalesce(open_at, $3), $3) WHERE scope = $1 AND rate_key = $2
