-- The newest id of a deleted task: it is not given again. Called by delete_task.
-- Primary key of store_meta.
INSERT INTO store_meta (name, value) VALUES ('deleted_task', CAST(?1 AS TEXT))
ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE CAST(value AS INTEGER) < CAST(excluded.value AS INTEGER)
