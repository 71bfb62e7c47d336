-- The next pool that has unclaimed jobs. Called by backlog, once per pool.
-- Index job_queue_due, its first entry past a pool.
SELECT pool FROM job_queue WHERE owner IS NULL AND state = 0 AND pool > $1 ORDER BY pool LIMIT 1
