-- Bodies that a leaving node gives up. Called by leave.
-- Index job_queue_state.
SELECT job_id, fence FROM job_queue INDEXED BY job_queue_state WHERE state IN (2, 3) AND state = 2 AND owner = ?1
