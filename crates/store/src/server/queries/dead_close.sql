-- A person took it up. Called by operate.
-- Primary key of dead_job.
UPDATE dead_job SET closed_at = $2, closed_by = $3 WHERE job_id = $1 AND closed_at IS NULL
