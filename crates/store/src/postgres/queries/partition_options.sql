-- How the default partition of a table is stored: the partitions of days are stored the same way. Called where one is made.
-- Catalog only, by names.
SELECT array_to_string(c.reloptions, ', ') FROM pg_class c WHERE c.oid = to_regclass($1)
