-- Was a migration ever applied here? Called by migrate.
-- The server's catalogue.
SELECT 1 WHERE to_regclass('schema_migration') IS NOT NULL
