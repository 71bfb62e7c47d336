-- Counts a heartbeat, unless somebody holds the row: a lease waits for nobody. Called by heartbeat.
-- Primary key of cluster.
UPDATE cluster c JOIN (SELECT id FROM cluster WHERE id = 1 FOR UPDATE SKIP LOCKED) free ON free.id = c.id
SET c.beats = c.beats + 1
