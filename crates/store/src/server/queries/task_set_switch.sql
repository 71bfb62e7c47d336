-- Enables or disables; no row when it stands so already. Called by switch_task.
-- Unique index on task_code.
UPDATE task_info SET task_status = $2, next_fire_time = $4, disabled_reason = NULL, update_time = $3, version = version + 1
WHERE task_code = $1 AND task_status <> $2
