-- The newest id: the next start goes on after it. Called by join.
-- Primary key of async_task, its last entry.
SELECT max(id) FROM async_task
