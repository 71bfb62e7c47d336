-- Live jobs of a task, at most as many as asked. Called by live_jobs_of_task and delete_task.
-- Scans the narrow job_queue: an index by task would cost every job two writes.
SELECT count(*) FROM (SELECT 1 FROM job_queue WHERE task_code = ?1 LIMIT ?2)
