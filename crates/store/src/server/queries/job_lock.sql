-- Nobody else changes the record meanwhile. Called by operate, expire, submit and fire for a job that they end.
-- Primary key of async_task.
SELECT id FROM async_task WHERE id = $1 FOR UPDATE
