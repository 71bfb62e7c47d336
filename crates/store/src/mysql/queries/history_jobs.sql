-- The records of jobs whose claims are void. Called when history was lost.
-- Index job_queue_due, primary key of async_task.
UPDATE job_queue q STRAIGHT_JOIN async_task t ON t.id = q.job_id SET t.task_status = 0
WHERE q.state = 2 AND t.task_status = 1
