-- Called by put_calendar.
-- Primary key of calendar.
INSERT INTO calendar (name, description, excluded, working) VALUES ($1, $2, $3, $4)
ON CONFLICT (name) DO UPDATE SET description = excluded.description, excluded = excluded.excluded, working = excluded.working
