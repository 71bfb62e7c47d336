-- A changed definition, guarded by the version that was read. Called by update_task.
-- Unique index on task_code.
UPDATE task_info SET task_name = ?2, task_type = ?3, task_handler = ?4, cron_expression = ?5, time_zone = ?6,
       execute_param = ?7, timeout_seconds = ?8, fail_strategy = ?9, retry_count = ?10, retry_base_ms = ?11,
       retry_cap_ms = ?12, pool = ?13, priority = ?14, overlap = ?15, max_running = ?16, misfire = ?17,
       misfire_grace_seconds = ?18, max_catchup = ?19, on_lost = ?20, owner = ?21, tags = ?22, description = ?23,
       update_time = ?24, version = version + 1
WHERE task_code = ?1 AND version = ?25
