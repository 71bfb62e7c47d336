-- As pool_limits, of a pool that nobody else claims from or changes meanwhile. Called by claim.
-- Primary key of pool.
SELECT rate_limit, cluster_concurrency FROM pool WHERE name = $1
FOR NO KEY UPDATE
