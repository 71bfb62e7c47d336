-- Another next fire time, guarded by what the planner saw. Called by replan.
-- Unique index on task_code.
UPDATE task_info SET next_fire_time = $4
WHERE task_code = $1 AND version = $2 AND next_fire_time <=> $3 AND task_status = 'ENABLED'
