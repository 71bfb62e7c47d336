-- In which lane a job is. Called by settle and claim, where the claim did not say it.
-- Primary key of job_queue.
SELECT task_code, lane, concurrency_key FROM job_queue WHERE job_id = $1
