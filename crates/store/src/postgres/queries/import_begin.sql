-- From here on the database opens for nobody else. Called by migrate.
-- Primary key of store_meta.
INSERT INTO store_meta (name, value) VALUES ('import', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value
