-- Another node may change the schema. Called by migrate.
-- No table.
SELECT release_lock(left(concat('mainspring schema of ', database()), 64))
