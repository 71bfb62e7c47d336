-- Has somebody else a table of one of our names? Called by migrate for a database without migrations.
-- The server's catalogue.
SELECT 1 WHERE to_regclass('task_info') IS NOT NULL OR to_regclass('async_task') IS NOT NULL
