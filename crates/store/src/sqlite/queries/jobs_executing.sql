-- Jobs that run, newest first. Called by jobs.
-- Partial index job_queue_state, backwards.
SELECT q.job_id, t.task_code, t.task_status, t.pool, t.trigger_type
FROM job_queue q INDEXED BY job_queue_state CROSS JOIN async_task t ON t.id = q.job_id
WHERE q.state > 1 AND q.state = 2 AND q.job_id >= ?1 AND q.job_id < ?2 ORDER BY q.job_id DESC LIMIT ?3
