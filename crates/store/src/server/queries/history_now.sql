-- Which history it is, while somebody else may hold the row. Called when history was lost.
-- Primary key of cluster.
SELECT history FROM cluster WHERE id = 1
