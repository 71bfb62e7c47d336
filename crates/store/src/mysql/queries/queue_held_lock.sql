-- Held jobs, if they are still held under this fence by this owner. Called by whoever starts, settles or gives back.
-- Primary key of job_queue.
SELECT q.job_id, q.fence, q.owner, q.state, q.task_code, q.lane, q.concurrency_key
FROM JSON_TABLE($1, '$[*]' COLUMNS (
    job_id BIGINT PATH '$[0]', fence BIGINT PATH '$[1]', owner BIGINT PATH '$[2]')) b
STRAIGHT_JOIN job_queue q FORCE INDEX (PRIMARY) ON q.job_id = b.job_id
WHERE q.fence = b.fence AND q.owner = b.owner AND q.state IN (1, 2)
FOR UPDATE
