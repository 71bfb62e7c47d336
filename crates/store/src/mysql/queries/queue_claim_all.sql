-- Every claim adds one to the fence. The rows are locked. Called by claim.
-- Primary key of job_queue; moves within job_queue_due.
UPDATE JSON_TABLE($1, '$[*]' COLUMNS (job_id BIGINT PATH '$[0]')) b STRAIGHT_JOIN job_queue q FORCE INDEX (PRIMARY) ON q.job_id = b.job_id
SET q.owner = $2, q.state = 1, q.fence = q.fence + 1
