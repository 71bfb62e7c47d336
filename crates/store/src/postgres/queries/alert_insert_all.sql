-- People are to be told. Called by settle, in the transaction of the outcomes.
-- Primary key of alert_event.
INSERT INTO alert_event (job_id, task_code, text, kind, create_time)
SELECT b.job_id, b.task_code, b.text, $4::text, $5::bigint
FROM unnest($1::bigint[], $2::text[], $3::text[]) AS b (job_id, task_code, text)
