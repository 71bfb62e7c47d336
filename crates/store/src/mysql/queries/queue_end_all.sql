-- Locked jobs are final. Called by settle.
-- Primary key of job_queue.
DELETE q FROM JSON_TABLE($1, '$[*]' COLUMNS (job_id BIGINT PATH '$[0]')) b
STRAIGHT_JOIN job_queue q FORCE INDEX (PRIMARY) ON q.job_id = b.job_id
