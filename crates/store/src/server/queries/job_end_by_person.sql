-- A person, or a job that takes its place, ends the job. Called by operate, submit and fire.
-- Primary key of async_task; enters the indexes by status.
UPDATE async_task SET task_status = $2, fence = $3, finish_time = $4, error_msg = $5, update_time = $4 WHERE id = $1
