-- Bodies of locked jobs have begun. Called by mark_started.
-- Primary key of job_queue.
UPDATE job_queue q SET state = 2 FROM unnest($1::bigint[]) AS b (job_id) WHERE q.job_id = ANY (ARRAY[b.job_id])
