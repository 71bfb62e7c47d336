-- When the first unclaimed job of each pool and priority is due; which pools have limits for all nodes (priority -1); when the
-- next rate opens (priority -2). Called by claim, before and after it. Index job_queue_due, one entry each; rate_ring_open.
SELECT p.at, c.priority, (
    SELECT q.due FROM job_queue q
    WHERE q.pool = p.pool AND q.priority = c.priority AND q.owner IS NULL AND q.state = 0
      AND q.task_code <> ALL ($3::text[])
    ORDER BY q.due LIMIT 1)
FROM unnest($1::bigint[], $2::text[]) AS p (at, pool) CROSS JOIN (VALUES (0::bigint), (1), (2), (3)) AS c (priority)
UNION ALL
SELECT p.at, -1, 1 FROM unnest($1::bigint[], $2::text[]) AS p (at, pool)
JOIN pool l ON l.name = p.pool WHERE l.rate_limit IS NOT NULL OR l.cluster_concurrency IS NOT NULL
UNION ALL
SELECT 0, -2, (SELECT open_at FROM rate_ring WHERE open_at IS NOT NULL ORDER BY open_at LIMIT 1)
