-- As queue_next_due, without the jobs of tasks that the node cannot run. Called by claim.
-- Index job_queue_due, in its order; looks at each row.
SELECT due FROM job_queue INDEXED BY job_queue_due
WHERE pool = ?1 AND priority = ?2 AND owner IS NULL AND state = 0
  AND task_code NOT IN (SELECT value FROM json_each(?3))
ORDER BY due LIMIT 1
