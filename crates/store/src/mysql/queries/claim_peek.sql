-- When the first unclaimed job of each pool and priority is due; which pools have limits for all nodes (priority -1); when the
-- next rate opens (priority -2). Called by claim, before and after it. Index job_queue_due, one entry each; rate_ring_open.
SELECT p.at, c.priority, (
    SELECT q.due FROM job_queue q FORCE INDEX (job_queue_due)
    WHERE q.pool = p.pool AND q.priority = c.priority AND q.state = 0 AND NOT JSON_CONTAINS($2, JSON_QUOTE(q.task_code))
    ORDER BY q.due LIMIT 1)
FROM JSON_TABLE($1, '$[*]' COLUMNS (at BIGINT PATH '$[0]', pool VARCHAR(60) PATH '$[1]')) p
CROSS JOIN (SELECT 0 AS priority UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) c
UNION ALL
SELECT p.at, -1, 1 FROM JSON_TABLE($1, '$[*]' COLUMNS (at BIGINT PATH '$[0]', pool VARCHAR(60) PATH '$[1]')) p
JOIN pool l ON l.name = p.pool WHERE l.rate_limit IS NOT NULL OR l.cluster_concurrency IS NOT NULL
UNION ALL
SELECT 0, -2, (SELECT open_at FROM rate_ring FORCE INDEX (rate_ring_open) WHERE open_at IS NOT NULL ORDER BY open_at LIMIT 1)
