-- EXECUTING becomes visible. Called by mark_started.
-- Primary key of async_task; touches no other index.
UPDATE async_task SET task_status = 1, start_time = ?2, fence = ?3, attempts = ?4, update_time = ?2 WHERE id = ?1
