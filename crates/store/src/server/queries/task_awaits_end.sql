-- Does the next fire of the task follow from the end of a job? Called by settle, operate and submit.
-- Unique index on task_code.
SELECT 1 FROM task_info
WHERE task_code = $1 AND next_fire_time IS NULL AND task_status = 'ENABLED' AND every_rhythm = 'FIXED_DELAY'
