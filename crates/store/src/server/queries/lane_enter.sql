-- Live jobs of a task that has limits now. Called by update_task when it got them, by create_task of a code that was used before.
-- Scans the narrow job_queue once per such change. Parts of broadcasts stay outside: their parents stand in the lane for them.
UPDATE job_queue
SET lane = 1, concurrency_key = coalesce((SELECT t.concurrency_key FROM async_task t WHERE t.id = job_id), '')
WHERE task_code = $1 AND lane = 0
  AND NOT EXISTS (SELECT 1 FROM async_task p WHERE p.id = job_id AND p.shard_index IS NOT NULL)
