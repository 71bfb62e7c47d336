-- The next of the live jobs, all of them one after another, each for whoever raises its fence. Called when history was lost.
-- Primary key of job_queue.
SELECT job_id, state FROM job_queue WHERE job_id > $1 ORDER BY job_id LIMIT $2 FOR UPDATE
