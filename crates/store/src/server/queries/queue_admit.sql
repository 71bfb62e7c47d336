-- A job that waited for its rate is judged anew. Called by claim.
-- Primary key of job_queue; enters job_queue_due.
UPDATE job_queue SET state = 0 WHERE job_id = $1 AND state = 5
