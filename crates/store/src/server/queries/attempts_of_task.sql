-- Attempts of a task, newest first. Called by attempts_of_task.
-- Index task_execution_log_by_task, backwards.
SELECT job_id, fence, task_code, attempt, node, execute_status, execute_time, finish_time, cost_ms, execute_result, error_message
FROM task_execution_log
WHERE task_code = $1 AND execute_time <= $2
  AND (execute_time < $2 OR job_id < $3 OR (job_id = $3 AND fence < $4))
ORDER BY execute_time DESC, job_id DESC, fence DESC LIMIT $5
