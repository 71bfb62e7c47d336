-- All that an attempt needs. Called by claim.
-- Primary keys of job_queue and async_task.
SELECT q.fence, q.due, q.suspect, t.task_code, t.pool, t.priority, t.attempts, t.retry_count, t.max_retry, t.lost_count,
       t.timeout_ms, t.payload, t.payload_ref, t.biz_id, t.unique_mode, t.trigger_type, t.fire_time, t.create_time,
       t.task_status, q.lane, q.concurrency_key, t.shard_index, t.shard_total
FROM job_queue q JOIN async_task t ON t.id = q.job_id WHERE q.job_id = ?1
