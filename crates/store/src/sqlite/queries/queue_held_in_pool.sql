-- How much of a pool's limit for all nodes is used. Called by claim, only for pools that have one.
-- Scans job_queue up to the limit: an index by owner would cost every claim.
SELECT count(*) FROM (SELECT 1 FROM job_queue WHERE pool = ?1 AND owner IS NOT NULL LIMIT ?2)
