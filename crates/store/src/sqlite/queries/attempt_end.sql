-- The final row of an attempt, also where its start was never written. Called by settle.
-- Primary key of task_execution_log; enters task_execution_log_by_task.
INSERT INTO task_execution_log (job_id, fence, task_code, attempt, node, execute_time, finish_time, execute_status,
                                cost_ms, create_time, result_ref, execute_result, error_message)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
ON CONFLICT (job_id, fence) DO UPDATE SET finish_time = excluded.finish_time,
       execute_status = excluded.execute_status, cost_ms = excluded.cost_ms, result_ref = excluded.result_ref,
       execute_result = excluded.execute_result, error_message = excluded.error_message
