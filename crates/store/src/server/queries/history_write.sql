-- A new history, and its count of heartbeats. Called for a new connection when history was lost.
-- Primary key of cluster.
UPDATE cluster SET history = $1, beats = $2 WHERE id = 1
