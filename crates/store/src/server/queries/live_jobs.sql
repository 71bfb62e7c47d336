-- How many live jobs each task has, among the oldest ones, as many as asked. Called by live_jobs.
-- Primary key of job_queue, in its order: scans the narrow table, once for all tasks.
SELECT task_code, count(*) FROM (SELECT task_code FROM job_queue ORDER BY job_id LIMIT $1) live GROUP BY task_code
