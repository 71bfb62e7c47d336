-- Notes a declaration; no row when it was made before. Called by declare_task.
-- Primary key of task_declaration.
INSERT IGNORE INTO task_declaration (task_code, fingerprint, time) VALUES ($1, $2, $3)
