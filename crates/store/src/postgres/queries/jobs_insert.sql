-- The records of new jobs; those whose ids are stored already are left out. Called by submit.
-- Primary key of async_task; enters async_task_by_task, and async_task_by_key with a key.
INSERT INTO async_task (id, task_code, pool, trigger_type, priority, unique_mode, biz_id, max_retry, fence,
             execute_time, timeout_ms, payload_ref, create_time, payload, task_status, update_time)
SELECT b.id, b.task_code, b.pool, b.trigger_type, b.priority, b.unique_mode, b.biz_id, b.max_retry, b.fence,
       b.execute_time, b.timeout_ms, b.payload_ref, b.create_time, b.payload, 0, b.create_time
FROM unnest($1::BIGINT[], $2::TEXT[], $3::TEXT[], $4::BIGINT[], $5::BIGINT[], $6::BIGINT[], $7::TEXT[], $8::BIGINT[],
            $9::BIGINT[], $10::BIGINT[], $11::BIGINT[], $12::BIGINT[], $13::BIGINT[], $14::TEXT[])
     AS b (id, task_code, pool, trigger_type, priority, unique_mode, biz_id, max_retry, fence, execute_time,
           timeout_ms, payload_ref, create_time, payload)
ON CONFLICT (id) DO NOTHING
