-- Is it still this import? Nobody takes its place before its transaction ends. Called by migrate, with each batch.
-- Primary key of store_meta.
SELECT 1 FROM store_meta WHERE name = 'import' AND value = $1 FOR UPDATE
