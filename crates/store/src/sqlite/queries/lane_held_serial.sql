-- How many of the held jobs of a lane run one after another. Called by claim, once per lane.
-- Partial index job_queue_serial alone.
SELECT count(*) FROM job_queue INDEXED BY job_queue_serial
WHERE lane = 2 AND task_code = ?1 AND concurrency_key = ?2 AND state IN (1, 2)
