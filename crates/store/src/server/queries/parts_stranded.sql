-- Parts of broadcasts that wait for a node which takes no new work, and the pool of their task. Called by join and take_over.
-- Index job_queue_due, its reserved pools: where none wait, nothing is read.
SELECT q.job_id, coalesce((SELECT i.pool FROM task_info i WHERE i.task_code = q.task_code), 'default')
FROM job_queue q
WHERE q.owner IS NULL AND q.state = 0 AND q.pool > '@' AND q.pool < 'A' AND q.pool <> '@broadcast'
  AND NOT EXISTS (SELECT 1 FROM node n WHERE q.pool = concat('@', n.incarnation) AND n.state = 'ACTIVE')
ORDER BY q.pool, q.priority, q.due LIMIT $1
