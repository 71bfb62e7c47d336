-- The days that have a partition of both tables. Called when the store opens, hourly, and by drop_history.
-- Catalog only, by the primary keys of its tables.
SELECT a.name FROM (
    SELECT substr(c.relname::text, 12) AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'async_task'::regclass
) a JOIN (
    SELECT substr(c.relname::text, 20) AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'task_execution_log'::regclass
) l ON l.name = a.name
WHERE a.name <> 'default'
