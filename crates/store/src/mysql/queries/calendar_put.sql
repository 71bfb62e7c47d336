-- Called by put_calendar.
-- Primary key of calendar.
INSERT INTO calendar (name, description, excluded, working) VALUES ($1, $2, $3, $4)
ON DUPLICATE KEY UPDATE description = VALUES(description), excluded = VALUES(excluded), working = VALUES(working)
