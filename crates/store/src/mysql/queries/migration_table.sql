-- What was applied to this database. Called by migrate, under its lock.
-- No index yet.
CREATE TABLE IF NOT EXISTS schema_migration (
    number      BIGINT PRIMARY KEY,
    min_version BIGINT       NOT NULL,
    checksum    VARCHAR(100) NOT NULL,
    is_done     BIGINT       NOT NULL,
    applied_at  BIGINT       NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4
