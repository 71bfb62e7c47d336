-- Jobs that came with a business key, newest first, of whatever task. Called by jobs.
-- Index async_task_by_key, backwards.
SELECT id, task_code, task_status, pool, trigger_type FROM async_task
WHERE biz_id = $4 AND id >= $1 AND id < $2 ORDER BY id DESC LIMIT $3
