-- The oldest live job of a task whose jobs are in lanes. Called by fire, to name what kept a fire away.
-- Index job_queue_lane alone.
SELECT min(job_id) FROM job_queue WHERE lane > 0 AND task_code = $1
