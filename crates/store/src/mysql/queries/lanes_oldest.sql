-- The oldest live jobs of tasks whose jobs are in lanes. Called by fire, to name what kept fires away.
-- Index job_queue_lane alone.
SELECT b.task_code, min(q.job_id)
FROM JSON_TABLE($1, '$[*]' COLUMNS (
    task_code VARCHAR(100) PATH '$[0]')) b STRAIGHT_JOIN job_queue q ON q.task_code = b.task_code
WHERE q.lane > 0 GROUP BY b.task_code
