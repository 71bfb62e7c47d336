-- A new history, its count of heartbeats, its floor. Called for a new connection when history was lost.
-- Primary key of cluster.
UPDATE cluster SET history = $1, beats = $2, fence_floor = $3 WHERE id = 1
