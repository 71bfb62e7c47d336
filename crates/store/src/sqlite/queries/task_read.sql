-- One task. Called by task and by all changes of tasks.
-- Unique index on task_code.
SELECT task_code, task_name, task_type, task_handler, cron_expression, time_zone, task_status, execute_param,
       timeout_seconds, fail_strategy, retry_count, retry_base_ms, retry_cap_ms, pool, priority, overlap, max_running,
       misfire, misfire_grace_seconds, max_catchup, on_lost, owner, tags, description, id, next_fire_time,
       prev_fire_time, version, create_time, update_time
FROM task_info WHERE task_code = ?1
