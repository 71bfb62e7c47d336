-- A claimed job that did not start: queued or parked again. Called by give_back.
-- Primary key of job_queue.
UPDATE job_queue SET owner = NULL, state = ?3 WHERE job_id = ?1 AND fence = ?2 AND owner = ?4 AND state = 1
RETURNING task_code, lane, concurrency_key
