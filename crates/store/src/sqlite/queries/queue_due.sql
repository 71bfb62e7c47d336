-- Due jobs of one pool and priority, earliest first. Called by claim.
-- Index job_queue_due, in its order.
SELECT job_id FROM job_queue INDEXED BY job_queue_due
WHERE pool = ?1 AND priority = ?2 AND owner IS NULL AND state = 0 AND due <= ?3
ORDER BY due LIMIT ?4
