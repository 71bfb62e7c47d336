-- A fence that went back. Called by verify.
-- Scans: runs nightly or by hand, never on a hot path.
SELECT 'job ' || id || ' has fence ' || newest || ', its attempts reach ' || reached
FROM (SELECT t.id, greatest(t.fence, coalesce(q.fence, 0)) AS newest, max(a.fence) AS reached
      FROM async_task t JOIN task_execution_log a ON a.job_id = t.id LEFT JOIN job_queue q ON q.job_id = t.id
      GROUP BY t.id, t.fence, q.fence) j
WHERE reached > newest
LIMIT 20
