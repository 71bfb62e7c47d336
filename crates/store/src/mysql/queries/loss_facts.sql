-- What `model::decide` must know of jobs whose node is gone. Called by join, take_over and leave.
-- Primary keys of async_task, task_execution_log and job_queue, unique index on task_code.
SELECT t.id, t.task_code, t.biz_id, t.unique_mode, t.retry_count, t.max_retry, t.lost_count, t.attempts, t.start_time,
       i.retry_count, i.retry_base_ms, i.retry_cap_ms, i.fail_strategy, i.on_lost, t.pool, a.node,
       t.trigger_type, q.lane, q.concurrency_key
FROM JSON_TABLE($1, '$[*]' COLUMNS (job_id BIGINT PATH '$[0]', fence BIGINT PATH '$[1]')) b
STRAIGHT_JOIN async_task t ON t.id = b.job_id
STRAIGHT_JOIN job_queue q ON q.job_id = b.job_id
LEFT JOIN task_info i ON i.task_code = t.task_code
LEFT JOIN task_execution_log a ON a.job_id = b.job_id AND a.fence = b.fence
