-- Called by delete_task.
-- Primary key of task_pin.
DELETE FROM task_pin WHERE task_code = $1
