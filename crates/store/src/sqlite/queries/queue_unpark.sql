-- Parked jobs of a task that is known now. Called by unpark.
-- Index job_queue_state.
UPDATE job_queue INDEXED BY job_queue_state SET state = 0 WHERE state > 1 AND state = 3 AND task_code = ?1
