-- How many live jobs each task has, among as many as asked. Called by live_jobs.
-- Scans the narrow job_queue, once for all tasks.
SELECT task_code, count(*) FROM (SELECT task_code FROM job_queue LIMIT $1) live GROUP BY task_code
