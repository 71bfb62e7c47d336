-- Called by delete_calendar.
-- Primary key of calendar.
DELETE FROM calendar WHERE name = $1
