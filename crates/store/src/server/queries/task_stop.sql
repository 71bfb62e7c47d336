-- The system disables a task and says why; no row when it is disabled already. Called by settle.
-- Unique index on task_code.
UPDATE task_info SET task_status = 'DISABLED', next_fire_time = NULL, disabled_reason = $3, update_time = $2,
       version = version + 1
WHERE task_code = $1 AND task_status <> 'DISABLED'
