-- When the next unclaimed job of a pool is due. Called by backlog.
-- Index job_queue_due, its first entry of each priority.
SELECT min(due) FROM (
    (SELECT due FROM job_queue WHERE pool = $1 AND priority = 0 AND owner IS NULL AND state = 0 ORDER BY due LIMIT 1)
    UNION ALL
    (SELECT due FROM job_queue WHERE pool = $1 AND priority = 1 AND owner IS NULL AND state = 0 ORDER BY due LIMIT 1)
    UNION ALL
    (SELECT due FROM job_queue WHERE pool = $1 AND priority = 2 AND owner IS NULL AND state = 0 ORDER BY due LIMIT 1)
    UNION ALL
    (SELECT due FROM job_queue WHERE pool = $1 AND priority = 3 AND owner IS NULL AND state = 0 ORDER BY due LIMIT 1)
) waiting
