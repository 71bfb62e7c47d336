-- The first job that waits for its lane is judged anew. Called by whoever ends or takes back a job of the lane.
-- Partial index job_queue_lane, its first entry; then the primary key of job_queue.
UPDATE job_queue SET state = 0 WHERE job_id = (
    SELECT job_id FROM job_queue INDEXED BY job_queue_lane
    WHERE lane > 0 AND task_code = ?1 AND concurrency_key = ?2 AND state = 4 ORDER BY priority, due, job_id LIMIT 1)
