-- Called by put_pool.
-- Primary key of pool.
INSERT INTO pool (name, concurrency, queue_capacity, paused, when_full, rate_limit, cluster_concurrency)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (name) DO UPDATE SET concurrency = excluded.concurrency, queue_capacity = excluded.queue_capacity,
       paused = excluded.paused, when_full = excluded.when_full, rate_limit = excluded.rate_limit,
       cluster_concurrency = excluded.cluster_concurrency
