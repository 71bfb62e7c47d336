-- Where the database was moved to. Called at the start.
-- Primary key of store_meta.
SELECT value FROM store_meta WHERE name = 'moved'
