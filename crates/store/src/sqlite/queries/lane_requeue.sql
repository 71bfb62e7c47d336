-- Jobs that wait for limits of a task are judged anew. Called by update_task.
-- Partial index job_queue_lane, all of the task (the plus keeps it from skipping through all tasks instead).
UPDATE job_queue INDEXED BY job_queue_lane SET state = 0 WHERE lane > 0 AND task_code = ?1 AND +state IN (4, 5)
