-- Live jobs of a task whose jobs are in lanes, at most as many as asked. Called by submit and fire.
-- Partial index job_queue_lane alone.
SELECT count(*) FROM (SELECT 1 FROM job_queue INDEXED BY job_queue_lane WHERE lane > 0 AND task_code = ?1 LIMIT ?2)
