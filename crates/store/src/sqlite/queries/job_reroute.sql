-- The record of a part that goes to another pool. Called by join, take_over and operate.
-- Primary key of async_task.
UPDATE async_task SET pool = ?2 WHERE id = ?1
