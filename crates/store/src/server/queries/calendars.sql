-- All calendars. Called by calendars.
-- Primary key of calendar, in its order.
SELECT name, description, excluded, working FROM calendar ORDER BY name
