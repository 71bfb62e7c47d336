-- Removes the alerts of these jobs. Called by drop_history.
-- Partial index alert_event_by_job.
DELETE FROM alert_event WHERE job_id IS NOT NULL AND job_id >= $1 AND job_id < $2
