-- The rates of a task begin anew. Called by update_task and delete_task.
-- Primary key of rate_ring.
DELETE FROM rate_ring WHERE scope = $1
