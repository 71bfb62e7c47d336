-- The first jobs of a lane that wait for its rate. Called by claim.
-- Index job_queue_lane, in its order.
SELECT job_id FROM job_queue
WHERE lane > 0 AND task_code = $1 AND concurrency_key = $2 AND state = 5 ORDER BY priority, due, job_id LIMIT $3
