-- One task, which nobody else uses until the end of the transaction. Called by delete_task and update_task.
-- Unique index on task_code, primary key of task_pin, which is not looked at (nor locked) unless something is asked of it.
SELECT t.task_code, t.task_name, t.task_type, t.task_handler, t.cron_expression, t.time_zone, t.task_status, t.every_ms, t.every_rhythm,
       t.start_at, t.end_at, t.calendar, t.execute_param, t.timeout_seconds, t.fail_strategy, t.retry_count, t.retry_base_ms,
       t.retry_cap_ms, t.pool, t.priority, t.overlap, t.max_running, t.concurrency_key, t.rate_limit, t.misfire,
       t.misfire_grace_seconds, t.max_catchup, t.start_deadline_seconds, t.on_lost, t.owner, t.tags, t.description, t.node_labels,
       t.broadcast, t.id,
       t.next_fire_time, t.prev_fire_time, t.disabled_reason, t.version, t.create_time, t.update_time
FROM task_info t
LEFT JOIN task_pin p ON p.task_code = t.task_code
WHERE t.task_code = $1 AND COALESCE(p.guarded, 0) >= 0
FOR UPDATE
