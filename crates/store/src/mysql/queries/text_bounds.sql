-- How many characters columns of bounded text hold. Called by migrate.
-- The server's catalogue.
SELECT table_name, column_name, CAST(character_maximum_length AS SIGNED)
FROM information_schema.columns WHERE table_schema = database() AND data_type = 'varchar'
