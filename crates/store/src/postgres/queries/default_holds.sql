-- The first job with an id in this range that is in no partition of a day. Called where a partition is made, and by
-- drop_history.
-- Primary keys of async_task_default and task_execution_log_default.
SELECT id FROM (
    (SELECT id FROM async_task_default WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 1)
    UNION ALL
    (SELECT job_id FROM task_execution_log_default WHERE job_id >= $1 AND job_id < $2 ORDER BY job_id LIMIT 1)
) first ORDER BY id LIMIT 1
