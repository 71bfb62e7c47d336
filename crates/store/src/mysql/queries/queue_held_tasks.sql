-- The tasks of held jobs that are in lanes. Called by whoever takes jobs from their owner, before it locks them.
-- Primary key of job_queue.
SELECT DISTINCT q.task_code
FROM JSON_TABLE($1, '$[*]' COLUMNS (
    job_id BIGINT PATH '$[0]', fence BIGINT PATH '$[1]', owner BIGINT PATH '$[2]')) b
STRAIGHT_JOIN job_queue q ON q.job_id = b.job_id
WHERE q.fence = b.fence AND q.owner = b.owner AND q.lane > 0
