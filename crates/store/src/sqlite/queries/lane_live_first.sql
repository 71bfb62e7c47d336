-- The oldest live job of a task whose jobs are in lanes. Called by fire, to name what kept a fire away.
-- Partial index job_queue_lane alone.
SELECT min(job_id) FROM job_queue INDEXED BY job_queue_lane WHERE lane > 0 AND task_code = ?1
