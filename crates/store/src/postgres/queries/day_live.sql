-- The first job of a day that is not final. Called by drop_history.
-- Primary key of job_queue.
SELECT job_id FROM job_queue WHERE job_id >= $1 AND job_id < $2 ORDER BY job_id LIMIT 1
