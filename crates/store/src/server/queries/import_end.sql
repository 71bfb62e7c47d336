-- This import is finished. Called by migrate.
-- Primary key of store_meta.
DELETE FROM store_meta WHERE name = 'import' AND value = $1
