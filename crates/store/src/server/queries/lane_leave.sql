-- Live jobs of a task that has no limits any more. Called by update_task when it lost them.
-- Index job_queue_lane.
UPDATE job_queue SET lane = 0, concurrency_key = NULL WHERE lane > 0 AND task_code = $1 AND lane = 1
