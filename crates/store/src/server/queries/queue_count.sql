-- Unclaimed jobs of a pool, at most as many as asked. Called by backlog.
-- Index job_queue_due alone.
SELECT count(*) FROM (
    SELECT 1 FROM job_queue WHERE pool = $1 AND owner IS NULL AND state = 0 LIMIT $2) waiting
