-- EXECUTING becomes visible. Called by mark_started.
-- Primary key of async_task; touches no other index.
UPDATE async_task t
SET task_status = 1, fence = b.fence, attempts = b.attempt, start_time = b.start_time, update_time = b.start_time
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS b (job_id, fence, attempt, start_time)
WHERE t.id = ANY (ARRAY[b.job_id])
