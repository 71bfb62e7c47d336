-- Nobody else claims, starts or ends the job meanwhile. Called by operate, expire, submit and fire for a job that they end.
-- Primary key of job_queue.
SELECT job_id FROM job_queue WHERE job_id = $1 FOR UPDATE
