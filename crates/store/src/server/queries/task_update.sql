-- A changed definition, guarded by the version that was read. Called by update_task.
-- Unique index on task_code.
UPDATE task_info SET task_name = $2, task_type = $3, task_handler = $4, cron_expression = $5, time_zone = $6,
       every_ms = $7, every_rhythm = $8, start_at = $9, end_at = $10, calendar = $11, execute_param = $12,
       timeout_seconds = $13, fail_strategy = $14, retry_count = $15, retry_base_ms = $16, retry_cap_ms = $17,
       pool = $18, priority = $19, overlap = $20, max_running = $21, concurrency_key = $22, rate_limit = $23,
       misfire = $24, misfire_grace_seconds = $25, max_catchup = $26, start_deadline_seconds = $27, on_lost = $28,
       owner = $29, tags = $30, description = $31, node_labels = $32, broadcast = $33,
       update_time = $34, version = version + 1,
       next_fire_time = CASE WHEN task_status = 'DISABLED' THEN NULL WHEN $36 = 1 THEN next_fire_time ELSE $37 END
WHERE task_code = $1 AND version = $35
