-- Jobs of one task, newest first. Called by jobs.
-- Index async_task_by_task, backwards.
SELECT id, task_code, task_status, pool, trigger_type FROM async_task
WHERE task_code = $4 AND id >= $1 AND id < $2 ORDER BY id DESC LIMIT $3
