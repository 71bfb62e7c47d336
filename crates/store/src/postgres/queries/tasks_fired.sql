-- The fire times that were due have their records. Called by fire, which holds the tasks.
-- Unique index on task_code.
UPDATE task_info t SET next_fire_time = b.next, prev_fire_time = b.previous
FROM unnest($1::TEXT[], $2::BIGINT[], $3::BIGINT[]) AS b (task_code, next, previous)
WHERE t.task_code = b.task_code
