-- The fire times that were due have their records. Called by fire, which has compared version and fire time.
-- Unique index on task_code.
UPDATE task_info SET next_fire_time = ?2, prev_fire_time = ?3 WHERE task_code = ?1
