-- Has somebody else a table of one of our names? Called by migrate for a database without migrations.
-- The server's catalogue.
SELECT 1 FROM information_schema.tables WHERE table_schema = database() AND table_name IN ('task_info', 'async_task')
