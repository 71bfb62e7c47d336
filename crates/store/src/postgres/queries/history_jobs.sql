-- The records of locked jobs whose claims are void. Called when history was lost.
-- Partial index job_queue_state, primary key of async_task.
UPDATE async_task t SET task_status = 0 FROM job_queue q
WHERE q.state > 1 AND q.state = 2 AND q.job_id > $1 AND q.job_id <= $2 AND t.id = q.job_id AND t.task_status = 1
