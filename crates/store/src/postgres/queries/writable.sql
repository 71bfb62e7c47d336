-- A write that changes nothing of note. Called by check_writable.
-- Primary key of store_meta.
INSERT INTO store_meta (name, value) VALUES ('checked_at', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value
