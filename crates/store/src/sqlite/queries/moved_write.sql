-- The database lives elsewhere now. Called by migrate.
-- Primary key of store_meta.
INSERT INTO store_meta (name, value) VALUES ('moved', ?1) ON CONFLICT (name) DO UPDATE SET value = excluded.value
