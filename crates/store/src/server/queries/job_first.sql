-- The job that has the key. Called by submit for a duplicate.
-- Primary key of async_task.
SELECT task_status, execute_time, payload, payload_ref FROM async_task WHERE id = $1
