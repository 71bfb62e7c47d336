-- All that an incarnation holds, after an unknown outcome. Called by held.
-- Scans job_queue once per unknown outcome: an index by owner would cost every claim.
SELECT job_id, fence, owner FROM job_queue WHERE owner = ?1 ORDER BY job_id
