-- Live jobs of a task, at most as many as asked. Called by live_jobs_of_task and delete_task.
-- Scans the narrow job_queue up to the last one it needs: what is live bounds it. An index by task would cost every job
-- two writes, and the index of async_task would look at the whole history of a task whose jobs have all ended.
SELECT count(*) FROM (SELECT 1 FROM job_queue WHERE task_code = ?1 LIMIT ?2)
