-- A migration was begun, or is done. Called by migrate.
-- Primary key of schema_migration.
INSERT INTO schema_migration (number, min_version, checksum, is_done, applied_at) VALUES ($1, $2, $3, $4, $5)
ON DUPLICATE KEY UPDATE is_done = VALUES(is_done), applied_at = VALUES(applied_at)
