-- Was this id stored by an earlier try? Called by submit.
-- Primary key of async_task.
SELECT 1 FROM async_task WHERE id = ?1
