-- The lock ends with its transaction. Called by nobody on this server.
-- No table.
SELECT 1
