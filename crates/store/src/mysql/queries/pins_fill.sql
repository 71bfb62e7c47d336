-- The pins of all tasks of a database that was filled. Called by migrate.
-- All of task_info, a small table.
INSERT IGNORE INTO task_pin (task_code, guarded)
SELECT task_code, overlap <> 'ALLOW' OR max_running IS NOT NULL OR rate_limit IS NOT NULL OR start_deadline_seconds IS NOT NULL
       OR COALESCE(every_rhythm = 'FIXED_DELAY', FALSE)
FROM task_info
