-- The queue row of a job that is not final; with an owner it is claimed. Called by submit, fire and operate.
-- Primary key of job_queue; enters job_queue_due only without an owner.
INSERT INTO job_queue (job_id, task_code, pool, priority, due, fence, owner, state)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
