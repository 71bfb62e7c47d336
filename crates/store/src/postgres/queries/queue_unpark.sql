-- Parked jobs of tasks that are known now. Called by unpark.
-- Partial index job_queue_state.
UPDATE job_queue SET state = 0 WHERE state > 1 AND state = 3 AND task_code = ANY ($1)
