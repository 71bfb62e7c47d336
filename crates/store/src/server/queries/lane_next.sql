-- The first job that waits for its lane (past serial ones while such a one is held). Called by whoever ends or takes back a job of the lane.
-- Index job_queue_lane alone, in its order.
SELECT w.job_id FROM job_queue w
WHERE w.lane > 0 AND w.task_code = $1 AND w.concurrency_key = $2 AND w.state = 4
  AND (w.lane = 1 OR NOT EXISTS (
      SELECT 1 FROM job_queue h
      WHERE h.lane > 0 AND h.lane = 2 AND h.task_code = $1 AND h.concurrency_key = $2 AND h.state IN (1, 2)))
ORDER BY w.priority, w.due, w.job_id LIMIT 1
