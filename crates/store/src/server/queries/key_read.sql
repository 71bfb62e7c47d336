-- Whose the key is. Called by submit and operate.
-- Primary key of job_key.
SELECT job_id FROM job_key WHERE biz_id = $1 AND task_code = $2
