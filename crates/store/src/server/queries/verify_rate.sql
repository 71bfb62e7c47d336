-- Jobs that wait for a rate which opens at no time. Called by verify.
-- Scans: runs nightly or by hand, never on a hot path.
SELECT 'job ' || q.job_id || ' of task ' || q.task_code || ' waits for its rate, which never opens'
FROM job_queue q
WHERE q.state = 5 AND NOT EXISTS (
    SELECT 1 FROM rate_ring r WHERE r.scope = 'task:' || q.task_code AND r.rate_key = q.concurrency_key AND r.open_at IS NOT NULL)
LIMIT 20
