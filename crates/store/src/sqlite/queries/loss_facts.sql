-- What `model::decide` must know of a job whose node is gone. Called by join and leave.
-- Primary key of async_task, unique task_code, primary keys of task_execution_log and job_queue.
SELECT t.task_code, t.biz_id, t.unique_mode, t.retry_count, t.max_retry, t.lost_count, t.attempts, t.start_time,
       i.retry_count, i.retry_base_ms, i.retry_cap_ms, i.fail_strategy, i.on_lost, t.pool, a.node,
       t.trigger_type, q.lane, q.concurrency_key
FROM async_task t
LEFT JOIN task_info i ON i.task_code = t.task_code
LEFT JOIN task_execution_log a ON a.job_id = t.id AND a.fence = ?2
LEFT JOIN job_queue q ON q.job_id = t.id
WHERE t.id = ?1
