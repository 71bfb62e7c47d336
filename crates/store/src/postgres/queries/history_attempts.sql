-- The running attempts of locked jobs whose claims are void. Called when history was lost.
-- Partial index job_queue_state, primary key of task_execution_log.
UPDATE task_execution_log a
SET execute_status = 6, finish_time = c.now, cost_ms = greatest(0, c.now - a.execute_time), error_message = $3
FROM job_queue q, (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now) c
WHERE q.state > 1 AND q.state = 2 AND q.job_id > $1 AND q.job_id <= $2 AND a.job_id = q.job_id AND a.fence = q.fence
    AND a.execute_status = 1
