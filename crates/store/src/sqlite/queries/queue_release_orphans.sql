-- Jobs in the memory of dead nodes go back to the queue as suspects. Called by join.
-- Scans job_queue once per start: an index by owner would cost every claim.
UPDATE job_queue SET owner = NULL, state = 0, suspect = 1
WHERE state = 1 AND owner NOT IN (SELECT incarnation FROM node WHERE state <> 'GONE')
