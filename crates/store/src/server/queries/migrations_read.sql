-- All that was begun or applied. Called by migrate.
-- Primary key of schema_migration.
SELECT number, min_version, checksum, is_done FROM schema_migration ORDER BY number
