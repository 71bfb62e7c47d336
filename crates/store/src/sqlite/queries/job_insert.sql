-- The record of a new job; no row when its id is stored already. Called by submit.
-- Primary key of async_task; enters async_task_by_task only.
INSERT INTO async_task (id, task_code, task_status, pool, trigger_type, priority, unique_mode, biz_id, max_retry, fence,
                        execute_time, timeout_ms, payload_ref, create_time, update_time, payload)
VALUES (?1, ?2, 0, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13, ?14)
ON CONFLICT (id) DO NOTHING
