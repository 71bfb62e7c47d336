-- Jobs, newest first. Called by jobs.
-- Primary key of async_task, backwards.
SELECT id, task_code, task_status, pool, trigger_type FROM async_task WHERE id >= $1 AND id < $2 ORDER BY id DESC LIMIT $3
