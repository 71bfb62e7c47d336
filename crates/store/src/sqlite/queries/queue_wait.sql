-- A due job waits for its lane or its rate, out of the way of others. Called by claim.
-- Primary key of job_queue; leaves job_queue_due.
UPDATE job_queue SET owner = NULL, state = ?2 WHERE job_id = ?1
