-- Which server it is: its data, and how often a standby has taken its place. Called for each new connection.
-- No table.
SELECT 'server', CASE WHEN NOT pg_is_in_recovery() THEN
    system_identifier::text || '/' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END
FROM pg_control_system()
