-- How the attempt of a late settlement stands. Called by settle when the fence is gone.
-- Primary key of task_execution_log.
SELECT execute_status, finish_time, error_message FROM task_execution_log WHERE job_id = $1 AND fence = $2
