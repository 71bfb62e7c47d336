-- Keeps a request id; no row when it is kept already. Called by press.
-- Primary key of request; enters request_by_time.
INSERT INTO request (request_id, operation, time) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
