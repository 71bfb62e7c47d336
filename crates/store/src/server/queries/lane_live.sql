-- Live jobs of a task whose jobs are in lanes, at most as many as asked. Called by submit and fire.
-- Index job_queue_lane alone.
SELECT count(*) FROM (SELECT 1 AS one FROM job_queue WHERE lane > 0 AND task_code = $1 LIMIT $2) live
