-- The same lock, when nobody has it. Called hourly.
-- No table.
SELECT 1 WHERE pg_try_advisory_xact_lock(5571470310842261587)
