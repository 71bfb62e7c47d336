-- Takes back a key that was inserted in this transaction. Called by submit and fire.
-- Primary key of job_key.
DELETE FROM job_key WHERE biz_id = $1 AND task_code = $2
