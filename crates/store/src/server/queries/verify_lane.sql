-- Jobs that wait for a lane in which nobody is held, due or throttled: none would ever let them go on. Called by verify.
-- Scans: runs nightly or by hand, never on a hot path.
SELECT 'job ' || w.job_id || ' of task ' || w.task_code || ' waits for its lane, in which nothing moves'
FROM job_queue w
WHERE w.state = 4 AND NOT EXISTS (
    SELECT 1 FROM job_queue q WHERE q.lane > 0 AND q.task_code = w.task_code AND q.concurrency_key = w.concurrency_key
                                    AND q.state IN (0, 1, 2, 5))
LIMIT 20
