-- The job goes back to the queue, guarded by the fence. Called by settle.
-- Primary key of job_queue.
UPDATE job_queue SET owner = NULL, state = 0, suspect = 0, due = ?3
WHERE job_id = ?1 AND fence = ?2 AND owner = ?4 AND state IN (1, 2)
