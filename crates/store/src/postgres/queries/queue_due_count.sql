-- Due jobs of one pool and priority, at most as many as asked. Called by claim where several priorities share its room.
-- Index job_queue_due, in its order.
SELECT count(*) FROM (
    SELECT 1 FROM job_queue
    WHERE pool = $1 AND priority = $2 AND owner IS NULL AND state = 0 AND due <= $3 AND task_code <> ALL ($5::text[])
    LIMIT $4) due
