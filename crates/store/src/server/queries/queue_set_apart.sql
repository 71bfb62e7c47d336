-- Jobs of one other state (started, parked, waiting for a limit) per pool, at most as many as asked. Called by backlog.
-- Index job_queue_state (MySQL: job_queue_due, which begins with the state).
SELECT pool, count(*), min(due) FROM (
    SELECT pool, due FROM job_queue WHERE state > 1 AND state = $1 LIMIT $2) apart
GROUP BY pool ORDER BY pool
