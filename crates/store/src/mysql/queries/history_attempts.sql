-- The running attempts of locked jobs whose claims are void. Called when history was lost.
-- Primary keys of job_queue and task_execution_log.
UPDATE job_queue q FORCE INDEX (PRIMARY)
STRAIGHT_JOIN task_execution_log a ON a.job_id = q.job_id AND a.fence = q.fence
CROSS JOIN (SELECT CAST(floor(unix_timestamp(now(3)) * 1000) AS SIGNED) AS now) c
SET a.execute_status = 6, a.finish_time = c.now, a.cost_ms = greatest(0, c.now - a.execute_time), a.error_message = $3
WHERE q.job_id > $1 AND q.job_id <= $2 AND q.state = 2 AND a.execute_status = 1
