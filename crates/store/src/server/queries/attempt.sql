-- One attempt. Called by attempt.
-- Primary key of task_execution_log.
SELECT job_id, fence, task_code, attempt, node, execute_status, execute_time, finish_time, cost_ms, execute_result, error_message
FROM task_execution_log WHERE job_id = $1 AND fence = $2
