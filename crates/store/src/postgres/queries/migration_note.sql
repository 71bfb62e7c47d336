-- A migration was begun, or is done. Called by migrate.
-- Primary key of schema_migration.
INSERT INTO schema_migration (number, min_version, checksum, is_done, applied_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (number) DO UPDATE SET is_done = excluded.is_done, applied_at = excluded.applied_at
