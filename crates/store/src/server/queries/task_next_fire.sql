-- The fire time that follows from the end of a job. Called by settle, operate and submit.
-- Unique index on task_code.
UPDATE task_info SET next_fire_time = $2 WHERE task_code = $1 AND task_status = 'ENABLED' AND next_fire_time IS NULL
