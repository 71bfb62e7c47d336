-- All that attempts need of the records. Called by claim.
-- Primary key of async_task.
SELECT t.id, t.task_code, t.pool, t.priority, t.attempts, t.retry_count, t.max_retry, t.lost_count, t.timeout_ms, t.payload,
       t.payload_ref, t.biz_id, t.unique_mode, t.trigger_type, t.fire_time, t.create_time, t.task_status, t.shard_index,
       t.shard_total
FROM unnest($1::bigint[]) AS b (job_id) JOIN async_task t ON t.id = ANY (ARRAY[b.job_id])
