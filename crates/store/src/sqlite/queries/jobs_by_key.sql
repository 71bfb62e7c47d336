-- Jobs that have a business key, one per task, at most a page. Called by jobs.
-- Primary key of job_key, its first column.
SELECT k.job_id, t.task_code, t.task_status, t.pool, t.trigger_type
FROM job_key k CROSS JOIN async_task t ON t.id = k.job_id
WHERE k.biz_id = ?4 AND k.job_id >= ?1 AND k.job_id < ?2 ORDER BY k.job_id DESC LIMIT ?3
