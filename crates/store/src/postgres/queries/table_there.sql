-- Is there a table of this name? Called by drop_history.
-- Catalog only, by names.
SELECT 1 WHERE to_regclass($1) IS NOT NULL
