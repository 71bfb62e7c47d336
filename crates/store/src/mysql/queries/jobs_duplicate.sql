-- Counts submits that were answered with these jobs. Called by submit.
-- Primary key of async_task, in its order.
UPDATE JSON_TABLE($1, '$[*]' COLUMNS (
    id BIGINT PATH '$[0]', times BIGINT PATH '$[1]', last BIGINT PATH '$[2]')) b
STRAIGHT_JOIN async_task t FORCE INDEX (PRIMARY) ON t.id = b.id
SET t.duplicates = t.duplicates + b.times, t.last_duplicate = b.last
