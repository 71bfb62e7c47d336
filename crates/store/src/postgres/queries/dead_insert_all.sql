-- Jobs that wait for a person. Called by settle.
-- Primary key of dead_job.
INSERT INTO dead_job (job_id, cause, task_code, time)
SELECT b.job_id, b.cause, b.task_code, $4::bigint
FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS b (job_id, cause, task_code)
ON CONFLICT (job_id) DO UPDATE SET cause = excluded.cause, time = excluded.time, closed_at = NULL, closed_by = NULL
