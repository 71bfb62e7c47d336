-- The running attempt of a job that was taken from its node. Called by operate, submit and fire.
-- Primary key of task_execution_log.
UPDATE task_execution_log SET execute_status = $3, finish_time = $4, cost_ms = greatest(0, $4 - execute_time), error_message = $5
WHERE job_id = $1 AND fence = $2 AND execute_status = 1
