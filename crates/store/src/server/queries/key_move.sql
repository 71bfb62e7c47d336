-- A key whose job's record is gone belongs to the next one who asks. Called by submit.
-- Primary key of job_key.
UPDATE job_key SET job_id = $3, while_live = $4 WHERE biz_id = $1 AND task_code = $2
