-- What nodes compare with what they know. Called by news.
-- Primary key of cluster.
SELECT definitions, history FROM cluster WHERE id = 1
