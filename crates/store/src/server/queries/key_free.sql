-- The key of a job that is final now. Called by settle, join and operate.
-- Primary key of job_key.
DELETE FROM job_key WHERE biz_id = $1 AND task_code = $2 AND job_id = $3 AND while_live = 1
