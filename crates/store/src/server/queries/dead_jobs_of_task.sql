-- Dead jobs of one task, newest first. Called by dead_jobs.
-- Index dead_job_open_by_task, backwards.
SELECT job_id, task_code, cause, time FROM dead_job
WHERE closed_at IS NULL AND task_code = $4 AND time <= $1 AND (time < $1 OR job_id < $2) ORDER BY time DESC, job_id DESC LIMIT $3
