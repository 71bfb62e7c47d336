-- As jobs_insert, with jobs of a schedule, parts of a broadcast, and jobs with a concurrency key. Called by submit and fire.
-- Primary key of async_task; enters async_task_by_task and async_task_by_key, and the indexes by status when it is skipped.
INSERT INTO async_task (id, task_code, pool, trigger_type, priority, unique_mode, biz_id, max_retry, fence,
             execute_time, timeout_ms, payload_ref, create_time, payload, concurrency_key, fire_time, fire_first,
             fire_count, task_status, skip_reason, finish_time, error_msg, shard_index, shard_total, update_time)
SELECT b.id, b.task_code, b.pool, b.trigger_type, b.priority, b.unique_mode, b.biz_id, b.max_retry, b.fence,
       b.execute_time, b.timeout_ms, b.payload_ref, b.create_time, b.payload, b.concurrency_key, b.fire_time,
       b.fire_first, b.fire_count, b.task_status, b.skip_reason, b.finish_time, b.error_msg, b.shard_index,
       b.shard_total, b.create_time
FROM unnest($1::BIGINT[], $2::TEXT[], $3::TEXT[], $4::BIGINT[], $5::BIGINT[], $6::BIGINT[], $7::TEXT[], $8::BIGINT[],
            $9::BIGINT[], $10::BIGINT[], $11::BIGINT[], $12::BIGINT[], $13::BIGINT[], $14::TEXT[], $15::TEXT[],
            $16::BIGINT[], $17::BIGINT[], $18::BIGINT[], $19::BIGINT[], $20::BIGINT[], $21::BIGINT[], $22::TEXT[],
            $23::BIGINT[], $24::BIGINT[])
     AS b (id, task_code, pool, trigger_type, priority, unique_mode, biz_id, max_retry, fence, execute_time,
           timeout_ms, payload_ref, create_time, payload, concurrency_key, fire_time, fire_first, fire_count,
           task_status, skip_reason, finish_time, error_msg, shard_index, shard_total)
ON CONFLICT (id) DO NOTHING
