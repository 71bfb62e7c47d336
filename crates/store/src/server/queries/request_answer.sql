-- What came of a request. Called by answer_press.
-- Primary key of request.
UPDATE request SET answer = $2 WHERE request_id = $1
