-- The records of new jobs; those whose ids are stored already are left out. Called by submit.
-- Primary key of async_task; enters async_task_by_task, and async_task_by_key with a key.
INSERT IGNORE INTO async_task (id, task_code, pool, trigger_type, priority, unique_mode, biz_id, max_retry, fence,
             execute_time, timeout_ms, payload_ref, create_time, payload, task_status, update_time)
SELECT b.id, b.task_code, b.pool, b.trigger_type, b.priority, b.unique_mode, b.biz_id, b.max_retry, b.fence,
       b.execute_time, b.timeout_ms, b.payload_ref, b.create_time, b.payload, 0, b.create_time
FROM JSON_TABLE($1, '$[*]' COLUMNS (
    id BIGINT PATH '$[0]', task_code VARCHAR(100) PATH '$[1]', pool VARCHAR(60) PATH '$[2]',
    trigger_type BIGINT PATH '$[3]', priority BIGINT PATH '$[4]', unique_mode BIGINT PATH '$[5]',
    biz_id VARCHAR(255) PATH '$[6]', max_retry BIGINT PATH '$[7]', fence BIGINT PATH '$[8]',
    execute_time BIGINT PATH '$[9]', timeout_ms BIGINT PATH '$[10]', payload_ref BIGINT PATH '$[11]',
    create_time BIGINT PATH '$[12]', payload LONGTEXT PATH '$[13]')) b
