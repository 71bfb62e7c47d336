-- Attempts of a job before a fence, newest first. Called by attempts_of_job.
-- Primary key of task_execution_log, backwards.
SELECT job_id, fence, task_code, attempt, node, execute_status, execute_time, finish_time, cost_ms, execute_result, error_message
FROM task_execution_log WHERE job_id = $1 AND fence < $2 ORDER BY fence DESC LIMIT $3
