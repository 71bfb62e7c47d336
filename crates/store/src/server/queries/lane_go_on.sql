-- A job that waits for its lane is judged anew. Called by whoever ends or takes back a job of the lane.
-- Primary key of job_queue.
UPDATE job_queue SET state = 0 WHERE job_id = $1 AND state = 4
