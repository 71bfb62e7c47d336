-- A key that points to no job. Called by verify.
-- Scans: runs nightly or by hand, never on a hot path.
SELECT 'key `' || k.biz_id || '` of task ' || k.task_code || ' points to job ' || k.job_id || ', which is not stored'
FROM job_key k WHERE NOT EXISTS (SELECT 1 FROM async_task t WHERE t.id = k.job_id)
LIMIT 20
