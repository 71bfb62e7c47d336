-- Is this table a partition already? Called where one is made.
-- Catalog only.
SELECT 1 FROM pg_class c WHERE c.oid = to_regclass($1) AND c.relispartition
