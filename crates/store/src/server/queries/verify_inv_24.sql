-- A job that is not final and not in the queue: nobody will ever run it. Called by verify.
-- Scans: runs nightly or by hand, never on a hot path.
SELECT 'job ' || t.id || ' is not final (' || t.task_status || ') and not in the queue'
FROM async_task t WHERE t.task_status NOT IN (2, 3, 4, 5, 6, 7) AND NOT EXISTS (SELECT 1 FROM job_queue q WHERE q.job_id = t.id)
LIMIT 20
