-- Who finds that history was lost is alone with it. Called when it was, again and again until it is seen to.
-- Primary key of cluster.
SELECT history FROM cluster WHERE id = 1 FOR UPDATE
