-- Every claim adds one to the fence. Called by claim.
-- Primary key of job_queue.
UPDATE job_queue SET owner = ?2, state = 1, fence = fence + 1 WHERE job_id = ?1
