-- Was this very change made a moment ago, by a try whose outcome was unknown? Called by operate.
-- Primary key of audit_log, its newest thousand rows.
SELECT 1 FROM audit_log
WHERE id > (SELECT coalesce(max(id), 0) - 1000 FROM audit_log) AND time = $1 AND who = $2 AND what = $3 AND object = $4
