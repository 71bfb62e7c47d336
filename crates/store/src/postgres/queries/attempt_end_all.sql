-- Late ends of attempts whose claims are gone. Called by settle.
-- Primary key of task_execution_log; enters task_execution_log_by_task.
INSERT INTO task_execution_log (job_id, fence, attempt, node, execute_time, finish_time, execute_status, cost_ms,
                                result_ref, task_code, execute_result, error_message, create_time)
SELECT b.*, $13::bigint
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
            $9::bigint[], $10::text[], $11::text[], $12::text[]) AS b
ON CONFLICT (job_id, fence) DO UPDATE SET finish_time = excluded.finish_time,
    execute_status = excluded.execute_status, cost_ms = excluded.cost_ms, result_ref = excluded.result_ref,
    execute_result = excluded.execute_result, error_message = excluded.error_message
