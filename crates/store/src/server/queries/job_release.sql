-- The record of a job that was taken from its node. Called by operate.
-- Primary key of async_task.
UPDATE async_task SET task_status = 0, fence = $2, update_time = $3 WHERE id = $1
