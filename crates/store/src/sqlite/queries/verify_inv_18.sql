-- More failed bodies than retries allow, in a job that no person reopened. Called by verify.
-- Scans: runs nightly or by hand, never on a hot path.
SELECT 'job ' || t.id || ' failed ' || count(*) || ' times, ' || t.max_retry || ' retries are allowed'
FROM async_task t JOIN task_execution_log a ON a.job_id = t.id AND a.execute_status IN (3, 4)
WHERE NOT EXISTS (SELECT 1 FROM dead_job d WHERE d.job_id = t.id AND d.closed_at IS NOT NULL)
  AND t.id NOT IN (SELECT CAST(substr(object, 5) AS INTEGER) FROM audit_log WHERE object LIKE 'job:%')
GROUP BY t.id HAVING count(*) > t.max_retry + 1
LIMIT 20
