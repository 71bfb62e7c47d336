-- The newest id of a deleted task: it is not given again. Called by migrate.
-- Primary key of store_meta.
SELECT CAST(value AS INTEGER) FROM store_meta WHERE name = 'deleted_task'
