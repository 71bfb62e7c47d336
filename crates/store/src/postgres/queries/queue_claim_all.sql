-- Every claim adds one to the fence. The rows are locked. Called by claim.
-- Primary key of job_queue; leaves job_queue_due.
UPDATE job_queue q SET owner = $2, state = 1, fence = q.fence + 1
FROM unnest($1::bigint[]) AS b (job_id) WHERE q.job_id = ANY (ARRAY[b.job_id])
