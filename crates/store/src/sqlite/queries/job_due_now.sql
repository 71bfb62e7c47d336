-- The record of a job that a person wants tried now. Called by operate.
-- Primary key of async_task.
UPDATE async_task SET next_retry_time = iif(next_retry_time IS NULL, NULL, ?2), update_time = ?2 WHERE id = ?1
