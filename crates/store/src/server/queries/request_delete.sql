-- Nothing came of a request: its id is free again. Called by answer_press.
-- Primary key of request.
DELETE FROM request WHERE request_id = $1
