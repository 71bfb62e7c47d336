-- Due jobs of one pool and priority, at most as many as asked. Called by claim where several priorities share its room.
-- Index job_queue_due, in its order.
SELECT count(*) FROM (
    SELECT 1 AS one FROM job_queue FORCE INDEX (job_queue_due)
    WHERE pool = $1 AND priority = $2 AND state = 0 AND due <= $3 AND NOT JSON_CONTAINS($5, JSON_QUOTE(task_code))
    LIMIT $4) due
