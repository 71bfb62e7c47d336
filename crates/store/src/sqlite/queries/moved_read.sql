-- Where the database was moved to. Called by open.
-- Primary key of store_meta.
SELECT value FROM store_meta WHERE name = 'moved'
