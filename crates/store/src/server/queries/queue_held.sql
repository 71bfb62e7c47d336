-- All that an incarnation holds, after an unknown outcome. Called by held.
-- Index job_queue_owner.
SELECT job_id, fence, owner FROM job_queue WHERE owner = $1 ORDER BY job_id
