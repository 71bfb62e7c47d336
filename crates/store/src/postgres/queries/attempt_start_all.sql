-- The RUNNING rows of attempts. Called by mark_started.
-- Primary key of task_execution_log; enters task_execution_log_by_task.
INSERT INTO task_execution_log (job_id, fence, attempt, execute_time, node, task_code, execute_status, create_time)
SELECT b.job_id, b.fence, b.attempt, b.start_time, b.node, b.task_code, 1, b.start_time
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[])
     AS b (job_id, fence, attempt, start_time, node, task_code)
ON CONFLICT DO NOTHING
