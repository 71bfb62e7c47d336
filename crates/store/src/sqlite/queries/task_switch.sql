-- May jobs of this task be stored? Called by submit, once per task and batch.
-- Unique index on task_code.
SELECT task_status FROM task_info WHERE task_code = ?1
