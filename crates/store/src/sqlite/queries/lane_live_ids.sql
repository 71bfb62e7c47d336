-- Live jobs of a task whose jobs are in lanes. Called by submit and fire for a job that replaces them.
-- Partial index job_queue_lane alone; the caller sorts what it is to end anyway.
SELECT job_id FROM job_queue INDEXED BY job_queue_lane WHERE lane > 0 AND task_code = ?1
