-- Held jobs, if they are still held under this fence by this owner. Called by whoever starts, settles or gives back.
-- Primary key of job_queue.
SELECT q.job_id, q.fence, q.owner, q.state, q.task_code, q.lane, q.concurrency_key
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS b (job_id, fence, owner)
JOIN job_queue q ON q.job_id = ANY (ARRAY[b.job_id]) AND q.fence = b.fence AND q.owner IS NOT DISTINCT FROM b.owner
WHERE q.state IN (1, 2)
ORDER BY b.job_id FOR UPDATE OF q
