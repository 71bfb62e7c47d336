-- How many jobs of a lane are held. Called by claim, once per lane.
-- Partial index job_queue_lane alone.
SELECT count(*) FROM job_queue INDEXED BY job_queue_lane
WHERE lane > 0 AND task_code = ?1 AND concurrency_key = ?2 AND state IN (1, 2)
