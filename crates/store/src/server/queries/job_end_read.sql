-- How a job ended. Called by job_end.
-- Primary key of async_task.
SELECT task_status, result_summary, result_ref, error_msg FROM async_task WHERE id = $1
