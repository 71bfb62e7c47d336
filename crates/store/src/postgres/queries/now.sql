-- The database's clock, in milliseconds. Called by now, at the start and with each heartbeat.
-- No table.
SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
