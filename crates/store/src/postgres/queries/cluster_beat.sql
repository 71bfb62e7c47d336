-- Counts a heartbeat, unless somebody holds the row: a lease waits for nobody. Called by heartbeat.
-- Primary key of cluster.
UPDATE cluster SET beats = beats + 1 WHERE id = (SELECT c.id FROM cluster c WHERE c.id = 1 FOR UPDATE SKIP LOCKED)
