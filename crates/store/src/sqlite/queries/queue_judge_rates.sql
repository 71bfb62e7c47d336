-- Jobs that wait for a rate are judged anew. Called by judge_rates_anew.
-- Partial index job_queue_state.
UPDATE job_queue SET state = 0 WHERE job_id IN (SELECT job_id FROM job_queue INDEXED BY job_queue_state WHERE state > 1 AND state = 5)
