-- One node at a time changes the schema; the lock ends with the transaction. Called by migrate.
-- No table.
SELECT pg_advisory_xact_lock(5571470310842261586)
