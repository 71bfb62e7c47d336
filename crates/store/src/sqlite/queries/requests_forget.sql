-- Request ids whose time is over. Called by press.
-- Index request_by_time.
DELETE FROM request INDEXED BY request_by_time WHERE time < ?1
