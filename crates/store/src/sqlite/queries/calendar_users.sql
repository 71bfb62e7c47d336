-- The tasks that name a calendar. Called by delete_calendar.
-- Unique index on task_code, in its order.
SELECT task_code FROM task_info WHERE calendar = ?1 ORDER BY task_code
