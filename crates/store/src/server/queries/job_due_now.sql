-- The record of a job that a person wants tried now. Called by operate.
-- Primary key of async_task.
UPDATE async_task SET next_retry_time = CASE WHEN next_retry_time IS NULL THEN NULL ELSE $2 END, update_time = $2 WHERE id = $1
