-- Who joins is alone with the numbers of nodes until its transaction ends. Called by join.
-- Primary key of cluster.
SELECT id FROM cluster WHERE id = 1 FOR UPDATE
