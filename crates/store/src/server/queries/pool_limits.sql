-- The limits of one pool that hold in all nodes together. Called by claim and submit, once per pool.
-- Primary key of pool.
SELECT rate_limit, cluster_concurrency FROM pool WHERE name = $1
