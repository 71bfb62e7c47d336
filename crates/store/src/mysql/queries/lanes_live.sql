-- Live jobs of tasks whose jobs are in lanes: whether there are any, where no more is asked. Called by submit and fire.
-- Index job_queue_lane alone.
SELECT b.task_code, CASE
    WHEN b.cap > 1 THEN (SELECT count(*) FROM job_queue q WHERE q.lane > 0 AND q.task_code = b.task_code)
    WHEN EXISTS (SELECT 1 FROM job_queue q WHERE q.lane > 0 AND q.task_code = b.task_code) THEN 1
    ELSE 0 END
FROM JSON_TABLE($1, '$[*]' COLUMNS (
    task_code VARCHAR(100) PATH '$[0]', cap BIGINT PATH '$[1]')) b
