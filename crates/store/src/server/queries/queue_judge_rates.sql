-- Jobs of a lane that wait for its rate are judged anew. Called by judge_rates_anew.
-- Index job_queue_lane.
UPDATE job_queue SET state = 0 WHERE lane > 0 AND task_code = $1 AND concurrency_key = $2 AND state = 5
