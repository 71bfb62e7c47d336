-- How many jobs of a lane are held, and how many of these run one after another. Called by claim, once per lane.
-- Partial index job_queue_lane alone.
SELECT count(*), ifnull(sum(lane = 2), 0) FROM job_queue INDEXED BY job_queue_lane
WHERE lane > 0 AND task_code = ?1 AND concurrency_key = ?2 AND state IN (1, 2)
