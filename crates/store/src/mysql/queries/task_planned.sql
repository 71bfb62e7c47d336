-- Has the task this next fire time already? Called by replan.
-- Unique index on task_code.
SELECT 1 FROM task_info WHERE task_code = $1 AND next_fire_time <=> $2
