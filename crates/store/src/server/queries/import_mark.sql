-- Is an import into this database unfinished, and from where? Called at the start, by join and by migrate.
-- Primary key of store_meta.
SELECT value FROM store_meta WHERE name = 'import'
