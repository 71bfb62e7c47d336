-- The tasks of held jobs that are in lanes. Called by whoever takes jobs from their owner, before it locks them.
-- Primary key of job_queue.
SELECT DISTINCT q.task_code FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS b (job_id, fence, owner)
JOIN job_queue q ON q.job_id = ANY (ARRAY[b.job_id]) AND q.fence = b.fence AND q.owner IS NOT DISTINCT FROM b.owner
WHERE q.lane <> 0
