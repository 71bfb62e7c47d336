-- The record of a job of a schedule, of a part of a broadcast, or of a job with a concurrency key. Called by submit and fire.
-- Primary key of async_task; enters async_task_by_task, and the two partial indexes when it is skipped.
INSERT INTO async_task (id, task_code, pool, trigger_type, priority, unique_mode, biz_id, max_retry, fence, execute_time,
                        timeout_ms, payload_ref, create_time, update_time, payload, concurrency_key, fire_time, fire_first,
                        fire_count, task_status, skip_reason, finish_time, error_msg, shard_index, shard_total)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)
ON CONFLICT (id) DO NOTHING
