-- Dead jobs that wait for a person, newest first. Called by dead_jobs.
-- Partial index dead_job_open, backwards.
SELECT job_id, task_code, cause, time FROM dead_job INDEXED BY dead_job_open
WHERE closed_at IS NULL AND (time, job_id) < (?1, ?2) ORDER BY time DESC, job_id DESC LIMIT ?3
