-- When the next unclaimed job of a pool and priority is due. Called by claim, earliest_due and backlog.
-- Index job_queue_due, its first entry.
SELECT due FROM job_queue INDEXED BY job_queue_due
WHERE pool = ?1 AND priority = ?2 AND owner IS NULL AND state = 0
ORDER BY due LIMIT 1
