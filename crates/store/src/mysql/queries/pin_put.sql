-- What submits from SQL hold of a task. Called by create_task, and by update_task when the task gets its first limit or loses its last.
-- Primary key of task_pin.
INSERT INTO task_pin (task_code, guarded) VALUES ($1, $2) ON DUPLICATE KEY UPDATE guarded = VALUES(guarded)
