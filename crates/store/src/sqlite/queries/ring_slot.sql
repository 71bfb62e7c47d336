-- The start in one slot. Called by claim.
-- Primary key of rate_start.
SELECT time FROM rate_start WHERE scope = ?1 AND key = ?2 AND slot = ?3
