-- A fence that went back. Called by verify.
-- Scans: runs nightly or by hand, never on a hot path.
SELECT 'job ' || t.id || ' has fence ' || max(t.fence, ifnull(q.fence, 0)) || ', its attempts reach ' || max(a.fence)
FROM async_task t JOIN task_execution_log a ON a.job_id = t.id LEFT JOIN job_queue q ON q.job_id = t.id
GROUP BY t.id HAVING max(a.fence) > max(t.fence, ifnull(q.fence, 0))
LIMIT 20
