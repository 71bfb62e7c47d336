-- How much of a pool's limit for all nodes is used. Called by claim, only for pools that have one.
-- Index job_queue_owner: what is held bounds it.
SELECT count(*) FROM (SELECT 1 AS one FROM job_queue WHERE pool = $1 AND owner IS NOT NULL LIMIT $2) held
