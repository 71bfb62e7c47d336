-- People are to be told. Called by settle, in the transaction of the outcomes.
-- Primary key of alert_event.
INSERT INTO alert_event (job_id, task_code, text, kind, create_time)
SELECT b.job_id, b.task_code, b.text, $2, $3
FROM JSON_TABLE($1, '$[*]' COLUMNS (
    job_id BIGINT PATH '$[0]', task_code VARCHAR(100) PATH '$[1]', text LONGTEXT PATH '$[2]')) b
