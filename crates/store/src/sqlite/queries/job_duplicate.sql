-- Counts a submit that was answered with this job. Called by submit.
-- Primary key of async_task.
UPDATE async_task SET duplicates = duplicates + 1, last_duplicate = ?2 WHERE id = ?1
