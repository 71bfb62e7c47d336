-- No claim of before is good any more: fences reach the floor, and what was held is released. Called when history was lost.
-- Primary key of job_queue: a part of it after another.
UPDATE job_queue
SET fence = greatest(fence + 1, $1), owner = NULL, suspect = CASE WHEN state IN (1, 2) THEN 1 ELSE suspect END,
    state = CASE WHEN state IN (1, 2) THEN 0 ELSE state END
WHERE job_id > $2 AND job_id <= $3
