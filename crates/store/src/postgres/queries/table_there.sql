-- Is there a table of this name beside async_task, as of this statement? Called by drop_history.
-- Catalog only. Not by to_regclass: behind an advisory lock it may still answer what was so before.
SELECT 1 FROM pg_class c
WHERE c.relname = $1 AND c.relnamespace = (SELECT p.relnamespace FROM pg_class p WHERE p.oid = 'async_task'::regclass)
