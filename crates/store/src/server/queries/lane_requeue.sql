-- Jobs that wait for limits of a task are judged anew. Called by update_task.
-- Index job_queue_lane, all of the task.
UPDATE job_queue SET state = 0 WHERE lane > 0 AND task_code = $1 AND state IN (4, 5)
