-- The fire times that were due have their records. Called by fire, which holds the tasks.
-- Unique index on task_code.
UPDATE JSON_TABLE($1, '$[*]' COLUMNS (
    task_code VARCHAR(100) PATH '$[0]', next BIGINT PATH '$[1]', previous BIGINT PATH '$[2]')) b
STRAIGHT_JOIN task_info t FORCE INDEX (task_code) ON t.task_code = b.task_code
SET t.next_fire_time = b.next, t.prev_fire_time = b.previous
