-- Pools with a limit that holds in all nodes together. Called by submit and fire, once per batch that would claim.
-- Scans pool, which has few rows.
SELECT name, rate_limit, cluster_concurrency FROM pool WHERE rate_limit IS NOT NULL OR cluster_concurrency IS NOT NULL
