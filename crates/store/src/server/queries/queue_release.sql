-- Takes a held job from its node. Called by operate.
-- Primary key of job_queue.
UPDATE job_queue SET owner = NULL, state = 0, fence = $2 WHERE job_id = $1
