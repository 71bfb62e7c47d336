-- Parts of broadcasts that wait for a node which takes no new work, and the pool of their task. Called by join, take_over and operate.
-- Partial index job_queue_due, its reserved pools: where none wait, nothing is read.
SELECT q.job_id, ifnull((SELECT i.pool FROM task_info i WHERE i.task_code = q.task_code), 'default')
FROM job_queue q INDEXED BY job_queue_due
WHERE q.owner IS NULL AND q.state = 0 AND q.pool > '@' AND q.pool < 'A' AND q.pool <> '@broadcast'
  AND NOT EXISTS (SELECT 1 FROM node n WHERE n.incarnation = CAST(substr(q.pool, 2) AS INTEGER) AND n.state = 'ACTIVE')
