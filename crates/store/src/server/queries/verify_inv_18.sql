-- More failed bodies than retries allow, in a job that no person reopened. Called by verify.
-- Scans: runs nightly or by hand, never on a hot path.
SELECT 'job ' || id || ' failed ' || failures || ' times, ' || max_retry || ' retries are allowed'
FROM (SELECT t.id, t.max_retry, count(*) AS failures
      FROM async_task t JOIN task_execution_log a ON a.job_id = t.id AND a.execute_status IN (3, 4)
      WHERE NOT EXISTS (SELECT 1 FROM dead_job d WHERE d.job_id = t.id AND d.closed_at IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM audit_log l WHERE l.object = 'job:' || t.id)
      GROUP BY t.id, t.max_retry) j
WHERE failures > max_retry + 1
LIMIT 20
