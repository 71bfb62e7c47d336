-- Removes the entries of these jobs among the dead ones. Called by drop_history.
-- Primary key of dead_job.
DELETE FROM dead_job WHERE job_id >= $1 AND job_id < $2
