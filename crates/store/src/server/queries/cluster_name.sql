-- To whom the database belongs. Called at the start.
-- Primary key of cluster.
SELECT cluster_name FROM cluster WHERE id = 1
