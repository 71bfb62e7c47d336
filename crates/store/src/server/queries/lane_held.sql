-- How many jobs of a lane are held, and how many of these run one after another. Called by claim, once per lane.
-- Index job_queue_lane alone.
SELECT count(*), count(CASE WHEN lane = 2 THEN 1 END) FROM job_queue
WHERE lane > 0 AND task_code = $1 AND concurrency_key = $2 AND state IN (1, 2)
