-- The first server that the database is on. Called at the start.
-- Primary key of store_meta.
INSERT INTO store_meta (name, value) VALUES ('server', $1) ON CONFLICT DO NOTHING
