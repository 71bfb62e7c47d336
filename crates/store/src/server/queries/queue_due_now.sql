-- A waiting job is due now. Called by operate.
-- Primary key of job_queue; moves within job_queue_due.
UPDATE job_queue SET due = $2 WHERE job_id = $1
