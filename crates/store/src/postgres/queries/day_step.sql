-- How far the next jobs of a day reach, and how many they are. Called by drop_history, for one partition.
-- Primary key of async_task.
SELECT max(id), count(*) FROM (SELECT id FROM async_task WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3) step
