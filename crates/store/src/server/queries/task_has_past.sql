-- Was there a task of this code before? Called by create_task: only then may jobs of it be live.
-- Index async_task_by_task.
SELECT 1 FROM async_task WHERE task_code = $1 LIMIT 1
