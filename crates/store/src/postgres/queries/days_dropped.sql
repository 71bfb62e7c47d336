-- The days whose partitions are taken out of the tables and not removed yet. Called by drop_history.
-- Catalog only, by names.
SELECT DISTINCT substr(c.relname::text, length(p.prefix) + 1)
FROM (VALUES ('async_task_dropped_'), ('task_execution_log_dropped_')) AS p (prefix)
JOIN pg_class c ON c.relname >= p.prefix AND c.relname < p.prefix || ':'
WHERE c.relkind = 'r' AND pg_table_is_visible(c.oid)
