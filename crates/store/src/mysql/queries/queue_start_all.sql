-- Bodies of locked jobs have begun. Called by mark_started.
-- Primary key of job_queue; leaves job_queue_due.
UPDATE JSON_TABLE($1, '$[*]' COLUMNS (job_id BIGINT PATH '$[0]')) b
STRAIGHT_JOIN job_queue q FORCE INDEX (PRIMARY) ON q.job_id = b.job_id
SET q.state = 2
