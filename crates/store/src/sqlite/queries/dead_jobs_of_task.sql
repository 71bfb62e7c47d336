-- Dead jobs of one task, newest first. Called by dead_jobs.
-- Partial index dead_job_open_by_task, backwards.
SELECT job_id, task_code, cause, time FROM dead_job INDEXED BY dead_job_open_by_task
WHERE closed_at IS NULL AND task_code = ?4 AND (time, job_id) < (?1, ?2) ORDER BY time DESC, job_id DESC LIMIT ?3
