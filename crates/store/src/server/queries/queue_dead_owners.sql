-- Owners of queue rows that are no live nodes. Called by join and take_over.
-- Index job_queue_owner, one entry per owner; primary key of node.
WITH RECURSIVE held (owner) AS (
    SELECT min(owner) FROM job_queue WHERE owner IS NOT NULL
    UNION ALL
    SELECT (SELECT min(q.owner) FROM job_queue q WHERE q.owner > held.owner) FROM held WHERE held.owner IS NOT NULL
)
SELECT held.owner FROM held
WHERE held.owner IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM node n WHERE n.incarnation = held.owner AND n.state <> 'GONE')
