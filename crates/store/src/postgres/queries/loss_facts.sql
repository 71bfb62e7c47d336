-- What `model::decide` must know of jobs whose node is gone. Called by join, take_over and leave.
-- Primary keys of async_task, task_execution_log and job_queue, unique index on task_code.
SELECT t.id, t.task_code, t.biz_id, t.unique_mode, t.retry_count, t.max_retry, t.lost_count, t.attempts, t.start_time,
       i.retry_count, i.retry_base_ms, i.retry_cap_ms, i.fail_strategy, i.on_lost, t.pool, a.node,
       t.trigger_type, q.lane, q.concurrency_key
FROM unnest($1::bigint[], $2::bigint[]) AS b (job_id, fence)
JOIN async_task t ON t.id = ANY (ARRAY[b.job_id])
JOIN job_queue q ON q.job_id = ANY (ARRAY[b.job_id])
LEFT JOIN task_info i ON i.task_code = t.task_code
LEFT JOIN task_execution_log a ON a.job_id = ANY (ARRAY[b.job_id]) AND a.fence = ANY (ARRAY[b.fence])
