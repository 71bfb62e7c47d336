-- As tasks_lock_change, without those that somebody else holds. Called by claim.
-- Unique index on task_code, in the order of the batch.
SELECT t.task_code, t.task_name, t.task_type, t.task_handler, t.cron_expression, t.time_zone, t.task_status, t.every_ms, t.every_rhythm,
       t.start_at, t.end_at, t.calendar, t.execute_param, t.timeout_seconds, t.fail_strategy, t.retry_count, t.retry_base_ms,
       t.retry_cap_ms, t.pool, t.priority, t.overlap, t.max_running, t.concurrency_key, t.rate_limit, t.misfire,
       t.misfire_grace_seconds, t.max_catchup, t.start_deadline_seconds, t.on_lost, t.owner, t.tags, t.description, t.node_labels,
       t.broadcast, t.id,
       t.next_fire_time, t.prev_fire_time, t.disabled_reason, t.version, t.create_time, t.update_time
FROM JSON_TABLE($1, '$[*]' COLUMNS (code VARCHAR(100) PATH '$[0]')) b
STRAIGHT_JOIN task_info t FORCE INDEX (task_code) ON t.task_code = b.code
FOR UPDATE SKIP LOCKED
