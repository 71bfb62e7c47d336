-- What the database remembers of the cluster, and which server wrote it. Called for each new connection.
-- Primary keys of cluster and store_meta.
SELECT c.history, c.beats, m.value FROM cluster c LEFT JOIN store_meta m ON m.name = 'server' WHERE c.id = 1
