-- The starts under the rates of a task. Called by update_task and delete_task.
-- Primary key of rate_start.
DELETE FROM rate_start WHERE scope = $1
