-- The database's clock, in milliseconds. Called by now, at the start and with each heartbeat.
-- No table.
SELECT CAST(floor(unix_timestamp(now(3)) * 1000) AS SIGNED)
