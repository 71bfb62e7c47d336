-- A live key whose job is final. Called by verify.
-- Scans: runs nightly or by hand, never on a hot path.
SELECT 'key `' || k.biz_id || '` of task ' || k.task_code || ' is held by job ' || t.id || ', which is final'
FROM job_key k JOIN async_task t ON t.id = k.job_id WHERE k.while_live = 1 AND t.task_status IN (2, 3, 4, 5, 7)
LIMIT 20
