-- The record of a job that a person wants tried now. Called by operate.
-- Primary key of async_task.
UPDATE async_task SET next_retry_time = next_retry_time + ($2 - next_retry_time), update_time = $2 WHERE id = $1
