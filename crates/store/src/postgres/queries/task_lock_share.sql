-- One task, which nobody deletes until the end of the transaction. Called by submit.
-- Unique index on task_code.
SELECT task_code, task_name, task_type, task_handler, cron_expression, time_zone, task_status, every_ms, every_rhythm,
       start_at, end_at, calendar, execute_param, timeout_seconds, fail_strategy, retry_count, retry_base_ms,
       retry_cap_ms, pool, priority, overlap, max_running, concurrency_key, rate_limit, misfire,
       misfire_grace_seconds, max_catchup, start_deadline_seconds, on_lost, owner, tags, description, node_labels,
       broadcast, id,
       next_fire_time, prev_fire_time, disabled_reason, version, create_time, update_time
FROM task_info WHERE task_code = $1
FOR KEY SHARE
