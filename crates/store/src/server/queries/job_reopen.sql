-- A new generation of a final job. Called by operate.
-- Primary key of async_task; leaves the indexes by status.
UPDATE async_task SET task_status = 0, retry_count = 0, lost_count = 0, next_retry_time = NULL, finish_time = NULL,
       update_time = $2
WHERE id = $1
