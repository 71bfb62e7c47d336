-- A part of a broadcast that nobody holds goes to another pool. Called by join and take_over.
-- Primary key of job_queue.
UPDATE job_queue SET pool = $2 WHERE job_id = $1 AND owner IS NULL AND state = 0
