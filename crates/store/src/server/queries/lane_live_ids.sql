-- Live jobs of a task whose jobs are in lanes, oldest first. Called by submit and fire for a job that replaces them.
-- Index job_queue_lane alone.
SELECT job_id FROM job_queue WHERE lane > 0 AND task_code = $1 ORDER BY job_id
