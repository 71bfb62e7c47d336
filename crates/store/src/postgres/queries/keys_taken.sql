-- The keys of a batch that other jobs have, with these jobs. Called by submit and fire when not all could be taken.
-- Primary keys of job_key and async_task.
SELECT b.job_id, k.job_id, t.task_status, t.execute_time, t.payload, t.payload_ref,
       (SELECT own.id FROM async_task own WHERE own.id = b.job_id)
FROM unnest($1::TEXT[], $2::TEXT[], $3::BIGINT[]) AS b (biz_id, task_code, job_id)
LEFT JOIN job_key k ON k.biz_id = ANY (ARRAY[b.biz_id]) AND k.task_code = ANY (ARRAY[b.task_code])
LEFT JOIN async_task t ON t.id = ANY (ARRAY[k.job_id])
WHERE k.job_id IS NULL OR k.job_id <> b.job_id
