-- Live jobs of a task, at most as many as asked. Called by live_jobs_of_task and delete_task.
-- Scans the narrow job_queue up to the last one it needs: what is live bounds it. (MySQL: index job_queue_lane.)
SELECT count(*) FROM (SELECT 1 AS one FROM job_queue WHERE task_code = $1 LIMIT $2) live
