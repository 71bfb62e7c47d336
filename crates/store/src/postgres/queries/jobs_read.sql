-- The records of a page of jobs. Called by jobs.
-- Primary keys of async_task and job_queue.
SELECT t.task_code, t.biz_id, t.task_status, t.retry_count, t.max_retry, t.lost_count, t.attempts,
       t.duplicates, t.last_duplicate,
       greatest(t.fence, coalesce(q.fence, 0)), t.execute_time, t.next_retry_time, t.start_time, t.finish_time, t.timeout_ms,
       t.pool, t.priority, t.trigger_type, t.fire_time, t.result_summary, t.error_msg, t.create_time, t.update_time,
       q.state, q.due, q.owner, t.payload_ref, t.payload, t.unique_mode, t.fire_first, t.fire_count, t.skip_reason,
       t.concurrency_key, q.lane, q.concurrency_key, t.shard_index, t.shard_total, t.id
FROM unnest($1::bigint[]) AS b (id) JOIN async_task t ON t.id = ANY (ARRAY[b.id])
LEFT JOIN job_queue q ON q.job_id = ANY (ARRAY[b.id])
