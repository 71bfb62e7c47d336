-- Called by delete_task.
-- Unique index on task_code.
DELETE FROM task_info WHERE task_code = $1
