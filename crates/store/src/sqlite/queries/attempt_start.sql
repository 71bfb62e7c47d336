-- The RUNNING row of an attempt. Called by mark_started.
-- Primary key of task_execution_log.
INSERT INTO task_execution_log (job_id, fence, task_code, attempt, node, execute_time, execute_status, create_time)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?6)
ON CONFLICT DO NOTHING
