-- People are to be told. Called by settle, operate and fire, in the transaction of the outcome.
-- Primary key of alert_event.
INSERT INTO alert_event (kind, job_id, task_code, text, create_time) VALUES ($1, $2, $3, $4, $5)
