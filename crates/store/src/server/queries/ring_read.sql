-- Where a rate stands: its next slot, and the start that this one holds. Called by claim.
-- Primary keys of rate_ring and rate_start.
SELECT r.next, s.time FROM rate_ring r
LEFT JOIN rate_start s ON s.scope = r.scope AND s.rate_key = r.rate_key AND s.slot = r.next % $3
WHERE r.scope = $1 AND r.rate_key = $2
