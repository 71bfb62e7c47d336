-- Called by put_pool.
-- Primary key of pool.
INSERT INTO pool (name, concurrency, queue_capacity, paused, when_full, rate_limit, cluster_concurrency)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON DUPLICATE KEY UPDATE concurrency = VALUES(concurrency), queue_capacity = VALUES(queue_capacity),
       paused = VALUES(paused), when_full = VALUES(when_full), rate_limit = VALUES(rate_limit),
       cluster_concurrency = VALUES(cluster_concurrency)
