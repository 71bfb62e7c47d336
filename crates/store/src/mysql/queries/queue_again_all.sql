-- Locked jobs go back to the queue. Called by settle.
-- Primary key of job_queue.
UPDATE JSON_TABLE($1, '$[*]' COLUMNS (job_id BIGINT PATH '$[0]', due BIGINT PATH '$[1]')) b
STRAIGHT_JOIN job_queue q FORCE INDEX (PRIMARY) ON q.job_id = b.job_id
SET q.owner = NULL, q.state = 0, q.suspect = 0, q.due = b.due
