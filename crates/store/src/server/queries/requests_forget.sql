-- Request ids whose time is over. Called by press.
-- Index request_by_time.
DELETE FROM request WHERE time < $1
