-- Who finds that history was lost is alone with it. Called for a new connection.
-- Primary key of cluster.
SELECT history FROM cluster WHERE id = 1 FOR UPDATE
