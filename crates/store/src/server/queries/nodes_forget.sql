-- Those that are gone since before an instant and hold nothing. Called by join.
-- Scans node: a row per start; index job_queue_owner.
DELETE FROM node
WHERE state = 'GONE' AND heartbeat_at < $1 AND NOT EXISTS (SELECT 1 FROM job_queue q WHERE q.owner = node.incarnation)
