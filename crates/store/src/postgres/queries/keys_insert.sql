-- Takes keys, each for the first that asks; those that are taken are left out. Called by submit, fire and operate.
-- Primary key of job_key, in its order.
INSERT INTO job_key (biz_id, task_code, job_id, while_live)
SELECT b.biz_id, b.task_code, b.job_id, b.while_live
FROM unnest($1::TEXT[], $2::TEXT[], $3::BIGINT[], $4::BIGINT[]) AS b (biz_id, task_code, job_id, while_live)
ON CONFLICT DO NOTHING
