-- Fired jobs of a task that nobody holds and no body has begun. Called by expire.
-- Index job_queue_lane; primary key of async_task.
SELECT q.job_id FROM job_queue q JOIN async_task t ON t.id = q.job_id
WHERE q.lane > 0 AND q.task_code = $1 AND q.state IN (0, 3, 4, 5) AND t.trigger_type IN (1, 4) AND t.attempts = 0
  AND t.create_time < $2
ORDER BY q.job_id LIMIT $3
