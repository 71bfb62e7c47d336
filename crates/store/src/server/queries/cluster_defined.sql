-- A definition has changed: every node reads them again. Called by all changes of tasks, pools and calendars, last of all.
-- Primary key of cluster.
UPDATE cluster SET definitions = definitions + 1 WHERE id = 1
