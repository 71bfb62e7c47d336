-- Has somebody else a table here? Called by migrate for a database without migrations.
-- The server's catalogue.
SELECT 1 FROM information_schema.tables WHERE table_schema = database() LIMIT 1
