-- Takes a business key; no row when it is taken. Called by submit, fire and operate.
-- Primary key of job_key.
INSERT INTO job_key (biz_id, task_code, job_id, while_live) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING
