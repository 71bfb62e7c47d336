-- A row that cannot be read rests as parked, so that it stops no other. Called by claim.
-- Primary key of job_queue.
UPDATE job_queue SET owner = NULL, state = 3 WHERE job_id = ?1
