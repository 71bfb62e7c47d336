-- A new task; no row when the code is taken. Called by create_task.
-- Unique index on task_code.
INSERT INTO task_info (task_code, task_name, task_type, task_handler, cron_expression, time_zone, every_ms,
                       every_rhythm, start_at, end_at, calendar, execute_param, timeout_seconds, fail_strategy,
                       retry_count, retry_base_ms, retry_cap_ms, pool, priority, overlap, max_running,
                       concurrency_key, rate_limit, misfire, misfire_grace_seconds, max_catchup,
                       start_deadline_seconds, on_lost, owner, tags, description, node_labels, broadcast, task_status,
                       version, create_time, update_time, next_fire_time)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
        $25, $26, $27, $28, $29, $30, $31, $32, $33, $36, 1, $34, $34, $35)
ON CONFLICT (task_code) DO NOTHING
