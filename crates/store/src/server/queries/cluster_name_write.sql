-- The first that names its cluster owns the database. Called at the start.
-- Primary key of cluster.
UPDATE cluster SET cluster_name = $1 WHERE id = 1 AND cluster_name = ''
