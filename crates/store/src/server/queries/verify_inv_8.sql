-- A final job that is still in the queue. Called by verify.
-- Scans: runs nightly or by hand, never on a hot path.
SELECT 'job ' || q.job_id || ' is in the queue, and '
       || CASE WHEN t.id IS NULL THEN 'has no record' ELSE 'its record says it is final (' || t.task_status || ')' END
FROM job_queue q LEFT JOIN async_task t ON t.id = q.job_id WHERE t.id IS NULL OR t.task_status NOT IN (0, 1)
LIMIT 20
