-- The task of each live job, at most as many as asked; the caller counts. Called by live_jobs.
-- Scans the narrow job_queue, once for all tasks: grouping here would sort what the caller only counts.
SELECT task_code FROM job_queue LIMIT ?1
