-- Due jobs of one pool and priority, earliest first, without those that somebody else is taking. Called by claim.
-- Index job_queue_due, in its order.
SELECT job_id, fence, due, suspect, task_code, lane, concurrency_key FROM job_queue
WHERE pool = $1 AND priority = $2 AND owner IS NULL AND state = 0 AND due <= $3 AND task_code <> ALL ($5::text[])
ORDER BY due, job_id LIMIT $4
FOR UPDATE SKIP LOCKED
