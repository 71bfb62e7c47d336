-- Two records of one task and fire time. Called by verify.
-- Scans: runs nightly or by hand, never on a hot path.
SELECT 'task ' || task_code || ' has ' || count(*) || ' jobs of fire time ' || fire_time
FROM async_task WHERE trigger_type IN (1, 4) AND fire_time IS NOT NULL
GROUP BY task_code, fire_time HAVING count(*) > 1
LIMIT 20
