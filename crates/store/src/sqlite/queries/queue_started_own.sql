-- Bodies that a leaving node gives up. Called by leave.
-- Index job_queue_state.
SELECT job_id, fence, owner FROM job_queue INDEXED BY job_queue_state WHERE state > 1 AND state = 2 AND owner = ?1
