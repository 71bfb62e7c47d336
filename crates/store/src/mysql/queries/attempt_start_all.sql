-- The RUNNING rows of attempts. Called by mark_started.
-- Primary key of task_execution_log; enters task_execution_log_by_task.
INSERT INTO task_execution_log (job_id, fence, attempt, execute_time, node, task_code, execute_status, create_time)
SELECT b.job_id, b.fence, b.attempt, b.start_time, b.node, b.task_code, 1, b.start_time
FROM JSON_TABLE($1, '$[*]' COLUMNS (
    job_id BIGINT PATH '$[0]', fence BIGINT PATH '$[1]', attempt BIGINT PATH '$[2]', start_time BIGINT PATH '$[3]',
    node BIGINT PATH '$[4]', task_code VARCHAR(100) PATH '$[5]')) b
ON DUPLICATE KEY UPDATE job_id = task_execution_log.job_id
