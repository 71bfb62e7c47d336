-- The server that the database is on from now. Called when history was lost.
-- Primary key of store_meta.
UPDATE store_meta SET value = $1 WHERE name = 'server'
