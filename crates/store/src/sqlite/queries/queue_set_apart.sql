-- Jobs of one other state (started, parked, waiting for a limit) per pool, at most as many as asked. Called by backlog.
-- Partial index job_queue_state.
SELECT pool, count(*), min(due) FROM (
    SELECT pool, due FROM job_queue INDEXED BY job_queue_state WHERE state > 1 AND state = ?1 LIMIT ?2)
GROUP BY pool ORDER BY pool
