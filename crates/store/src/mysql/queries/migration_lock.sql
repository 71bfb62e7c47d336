-- One node at a time changes the schema of this database: 1 when it is this one. Called by migrate.
-- No table.
SELECT get_lock(left(concat('mainspring schema of ', database()), 64), 60)
