-- Jobs of one task that ended without success, newest first. Called by jobs.
-- Index async_task_by_status_task, backwards.
SELECT id, task_code, task_status, pool, trigger_type FROM async_task
WHERE closed_status = $4 AND task_code = $5 AND id >= $1 AND id < $2
ORDER BY id DESC LIMIT $3
