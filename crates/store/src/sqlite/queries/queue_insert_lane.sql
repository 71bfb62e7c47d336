-- The queue row of a job in a lane. Called by submit, fire and operate.
-- Primary key of job_queue; enters job_queue_lane, and job_queue_due without an owner.
INSERT INTO job_queue (job_id, task_code, pool, priority, due, fence, owner, state, lane, concurrency_key)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
