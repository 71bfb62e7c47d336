-- Locked jobs that no body has begun are nobody's again. Called by give_back, leave, join and take_over.
-- Primary key of job_queue; moves within job_queue_due.
UPDATE JSON_TABLE($1, '$[*]' COLUMNS (job_id BIGINT PATH '$[0]')) b
STRAIGHT_JOIN job_queue q FORCE INDEX (PRIMARY) ON q.job_id = b.job_id
SET q.owner = NULL, q.state = $2, q.suspect = greatest(q.suspect, $3)
