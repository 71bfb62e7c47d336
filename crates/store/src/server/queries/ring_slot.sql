-- The start in one slot. Called by claim.
-- Primary key of rate_start.
SELECT time FROM rate_start WHERE scope = $1 AND rate_key = $2 AND slot = $3
