-- A hint to whoever listens. Called by the task that sends hints, never by a verb.
-- No table.
SELECT pg_notify($1, $2)::text
