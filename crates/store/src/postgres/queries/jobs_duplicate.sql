-- Counts submits that were answered with these jobs. Called by submit.
-- Primary key of async_task, in its order.
UPDATE async_task t SET duplicates = t.duplicates + b.times, last_duplicate = b.last
FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[]) AS b (id, times, last)
WHERE t.id = ANY (ARRAY[b.id])
