-- The final rows of attempts, also where their start was never written. Called by settle.
-- Primary key of task_execution_log; enters task_execution_log_by_task.
INSERT INTO task_execution_log (job_id, fence, attempt, node, execute_time, finish_time, execute_status, cost_ms,
                                result_ref, task_code, execute_result, error_message, create_time)
SELECT b.*, $2
FROM JSON_TABLE($1, '$[*]' COLUMNS (
    job_id BIGINT PATH '$[0]', fence BIGINT PATH '$[1]', attempt BIGINT PATH '$[2]', node BIGINT PATH '$[3]',
    execute_time BIGINT PATH '$[4]', finish_time BIGINT PATH '$[5]', status BIGINT PATH '$[6]', cost_ms BIGINT PATH '$[7]',
    result_ref BIGINT PATH '$[8]', task_code VARCHAR(100) PATH '$[9]', summary LONGTEXT PATH '$[10]',
    error LONGTEXT PATH '$[11]')) b
ON DUPLICATE KEY UPDATE finish_time = VALUES(finish_time), execute_status = VALUES(execute_status),
    cost_ms = VALUES(cost_ms), result_ref = VALUES(result_ref), execute_result = VALUES(execute_result),
    error_message = VALUES(error_message)
