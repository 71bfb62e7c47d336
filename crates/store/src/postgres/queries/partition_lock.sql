-- One node at a time makes partitions; the lock ends with the transaction. Called when the store opens, and hourly.
-- No table.
SELECT pg_advisory_xact_lock(5571470310842261587)
