-- What a request id was used for, and what came of it. Called by press.
-- Primary key of request.
SELECT operation, answer FROM request WHERE request_id = $1
