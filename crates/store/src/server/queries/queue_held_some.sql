-- Some of what an incarnation holds in one state. Called by join, take_over and leave, batch by batch.
-- Index job_queue_owner.
SELECT job_id, fence, owner FROM job_queue WHERE owner = $1 AND state = $2 LIMIT $3
