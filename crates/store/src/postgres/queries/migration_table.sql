-- What was applied to this database. Called by migrate, under its lock.
-- No index yet.
CREATE TABLE IF NOT EXISTS schema_migration (
    number      BIGINT PRIMARY KEY,
    min_version BIGINT NOT NULL,
    checksum    TEXT   NOT NULL,
    is_done     BIGINT NOT NULL,
    applied_at  BIGINT NOT NULL
)
