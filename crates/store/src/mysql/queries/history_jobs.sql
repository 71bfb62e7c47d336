-- The records of locked jobs whose claims are void. Called when history was lost.
-- Primary keys of job_queue and async_task.
UPDATE job_queue q FORCE INDEX (PRIMARY) STRAIGHT_JOIN async_task t ON t.id = q.job_id SET t.task_status = 0
WHERE q.job_id > $1 AND q.job_id <= $2 AND q.state = 2 AND t.task_status = 1
