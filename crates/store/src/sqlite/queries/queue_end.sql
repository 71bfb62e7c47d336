-- Deleting the queue row under the fence is the right to write the outcome. Called by settle.
-- Primary key of job_queue.
DELETE FROM job_queue WHERE job_id = ?1 AND fence = ?2 AND owner = ?3 AND state IN (1, 2)
