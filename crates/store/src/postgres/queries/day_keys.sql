-- Frees the keys of these jobs. Called by drop_history, for one partition.
-- Primary keys of async_task and job_key.
DELETE FROM job_key k USING async_task t
WHERE t.id >= $1 AND t.id < $2 AND k.biz_id = ANY (ARRAY[t.biz_id]) AND k.task_code = ANY (ARRAY[t.task_code]) AND k.job_id = t.id
