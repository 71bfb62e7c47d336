-- No claim of before is good any more: fences jump ahead, and what was held is released. Called when history was lost.
-- Scans job_queue: all that is live.
UPDATE job_queue
SET fence = fence + $1, owner = NULL, suspect = CASE WHEN state IN (1, 2) THEN 1 ELSE suspect END,
    state = CASE WHEN state IN (1, 2) THEN 0 ELSE state END
