-- Enables or disables; no row when it stands so already. Called by switch_task and settle.
-- Unique index on task_code.
UPDATE task_info SET task_status = ?2, update_time = ?3, version = version + 1
WHERE task_code = ?1 AND task_status <> ?2
