-- Jobs that run, newest first. Called by jobs.
-- Index job_queue_state (MySQL: job_queue_due, which begins with the state).
SELECT q.job_id, t.task_code, t.task_status, t.pool, t.trigger_type
FROM job_queue q JOIN async_task t ON t.id = q.job_id
WHERE q.state = 2 AND q.job_id >= $1 AND q.job_id < $2 ORDER BY q.job_id DESC LIMIT $3
