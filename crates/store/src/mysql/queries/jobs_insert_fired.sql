-- As jobs_insert, with jobs of a schedule, parts of a broadcast, and jobs with a concurrency key. Called by submit and fire.
-- Primary key of async_task; enters async_task_by_task and async_task_by_key, and the indexes by status when it is skipped.
INSERT IGNORE INTO async_task (id, task_code, pool, trigger_type, priority, unique_mode, biz_id, max_retry, fence,
             execute_time, timeout_ms, payload_ref, create_time, payload, concurrency_key, fire_time, fire_first,
             fire_count, task_status, skip_reason, finish_time, error_msg, shard_index, shard_total, update_time)
SELECT b.id, b.task_code, b.pool, b.trigger_type, b.priority, b.unique_mode, b.biz_id, b.max_retry, b.fence,
       b.execute_time, b.timeout_ms, b.payload_ref, b.create_time, b.payload, b.concurrency_key, b.fire_time,
       b.fire_first, b.fire_count, b.task_status, b.skip_reason, b.finish_time, b.error_msg, b.shard_index,
       b.shard_total, b.create_time
FROM JSON_TABLE($1, '$[*]' COLUMNS (
    id BIGINT PATH '$[0]', task_code VARCHAR(100) PATH '$[1]', pool VARCHAR(60) PATH '$[2]',
    trigger_type BIGINT PATH '$[3]', priority BIGINT PATH '$[4]', unique_mode BIGINT PATH '$[5]',
    biz_id VARCHAR(255) PATH '$[6]', max_retry BIGINT PATH '$[7]', fence BIGINT PATH '$[8]',
    execute_time BIGINT PATH '$[9]', timeout_ms BIGINT PATH '$[10]', payload_ref BIGINT PATH '$[11]',
    create_time BIGINT PATH '$[12]', payload LONGTEXT PATH '$[13]', concurrency_key VARCHAR(255) PATH '$[14]',
    fire_time BIGINT PATH '$[15]', fire_first BIGINT PATH '$[16]', fire_count BIGINT PATH '$[17]',
    task_status BIGINT PATH '$[18]', skip_reason BIGINT PATH '$[19]', finish_time BIGINT PATH '$[20]',
    error_msg LONGTEXT PATH '$[21]', shard_index BIGINT PATH '$[22]', shard_total BIGINT PATH '$[23]')) b
