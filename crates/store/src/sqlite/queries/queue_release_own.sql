-- What a leaving node holds in memory goes back, unburnt. Called by leave.
-- Scans job_queue once per stop: an index by owner would cost every claim.
UPDATE job_queue SET owner = NULL, state = 0 WHERE state = 1 AND owner = ?1
