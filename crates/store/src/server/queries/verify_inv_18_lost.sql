-- More losses than the poison limit. Called by verify.
-- Scans: runs nightly or by hand, never on a hot path.
SELECT 'job ' || id || ' was lost ' || lost_count || ' times' FROM async_task WHERE lost_count > $1
LIMIT 20
