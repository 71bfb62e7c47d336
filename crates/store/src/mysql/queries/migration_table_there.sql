-- Was a migration ever applied here? Called by migrate.
-- The server's catalogue.
SELECT 1 FROM information_schema.tables WHERE table_schema = database() AND table_name = 'schema_migration'
