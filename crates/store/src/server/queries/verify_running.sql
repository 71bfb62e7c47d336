-- A RUNNING attempt whose claim is gone. Called by verify.
-- Scans: runs nightly or by hand, never on a hot path.
SELECT 'attempt ' || a.job_id || '-' || a.fence || ' is RUNNING, and nobody holds the job under this fence'
FROM task_execution_log a
WHERE a.execute_status = 1
  AND NOT EXISTS (SELECT 1 FROM job_queue q WHERE q.job_id = a.job_id AND q.fence = a.fence AND q.state = 2)
LIMIT 20
