-- A job that waits for a person. Called by settle and operate.
-- Primary key of dead_job.
INSERT INTO dead_job (job_id, task_code, cause, time) VALUES ($1, $2, $3, $4)
ON DUPLICATE KEY UPDATE cause = $3, time = $4, closed_at = NULL, closed_by = NULL
