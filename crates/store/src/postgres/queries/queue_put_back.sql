-- Locked jobs that no body has begun are nobody's again. Called by give_back, leave, join and take_over.
-- Primary key of job_queue; enters job_queue_due.
UPDATE job_queue q SET owner = NULL, state = $2, suspect = greatest(q.suspect, $3)
FROM unnest($1::bigint[]) AS b (job_id) WHERE q.job_id = ANY (ARRAY[b.job_id])
