-- Jobs that were known to run on dead nodes. Called by join.
-- Index job_queue_state.
SELECT job_id, fence, owner FROM job_queue INDEXED BY job_queue_state
WHERE state > 1 AND state = 2 AND owner NOT IN (SELECT incarnation FROM node WHERE state <> 'GONE')
