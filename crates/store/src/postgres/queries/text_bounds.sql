-- How many characters columns of bounded text hold. Called by migrate.
-- The server's catalogue.
SELECT table_name::text, column_name::text, character_maximum_length::bigint
FROM information_schema.columns WHERE table_schema = current_schema() AND character_maximum_length IS NOT NULL
