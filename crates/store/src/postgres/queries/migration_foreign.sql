-- Has somebody else a table here? Called by migrate for a database without migrations.
-- The server's catalogue; what belongs to an extension is nobody's.
SELECT 1 FROM pg_class c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND to_regclass('schema_migration') IS NULL
  AND NOT EXISTS (
      SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
LIMIT 1
