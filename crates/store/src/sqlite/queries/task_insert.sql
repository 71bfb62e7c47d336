-- A new task; no row when the code is taken. Called by create_task.
-- Unique index on task_code.
INSERT INTO task_info (task_code, task_name, task_type, task_handler, cron_expression, time_zone, task_status,
                       execute_param, timeout_seconds, fail_strategy, retry_count, retry_base_ms, retry_cap_ms, pool,
                       priority, overlap, max_running, misfire, misfire_grace_seconds, max_catchup, on_lost, owner,
                       tags, description, version, create_time, update_time)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'ENABLED', ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
        ?22, ?23, 1, ?24, ?24)
ON CONFLICT (task_code) DO NOTHING
