-- A final failure that nobody is told of. Called by verify.
-- Scans: runs nightly or by hand, never on a hot path.
SELECT 'job ' || t.id || ' failed without '
       || CASE WHEN d.job_id IS NULL THEN 'an entry among the dead jobs' ELSE 'an alert event' END
FROM async_task t LEFT JOIN dead_job d ON d.job_id = t.id
WHERE t.closed_status IN (3, 4)
  AND (d.job_id IS NULL OR NOT EXISTS (SELECT 1 FROM alert_event e WHERE e.job_id = t.id))
LIMIT 20
