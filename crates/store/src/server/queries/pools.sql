-- All pools. Called by pools.
-- Primary key of pool, in its order.
SELECT name, concurrency, queue_capacity, paused, when_full, rate_limit, cluster_concurrency FROM pool ORDER BY name
