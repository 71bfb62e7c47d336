-- The body has begun, guarded by the fence. Called by mark_started.
-- Primary key of job_queue.
UPDATE job_queue SET state = 2 WHERE job_id = ?1 AND fence = ?2 AND owner = ?3 AND state IN (1, 2)
