-- Jobs that are not final, newest first. Called by jobs.
-- Primary key of job_queue, backwards.
SELECT q.job_id, t.task_code, t.task_status, t.pool, t.trigger_type
FROM job_queue q JOIN async_task t ON t.id = q.job_id
WHERE q.job_id >= $1 AND q.job_id < $2 ORDER BY q.job_id DESC LIMIT $3
