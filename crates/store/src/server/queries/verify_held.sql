-- A held job whose holder is gone: nobody runs it, and nobody takes it back. Called by verify.
-- Scans: runs nightly or by hand, never on a hot path.
SELECT 'job ' || q.job_id || ' is held by ' || coalesce('node ' || q.owner, 'nobody') || ', which is gone'
FROM job_queue q
WHERE q.state IN (1, 2) AND NOT EXISTS (SELECT 1 FROM node n WHERE n.incarnation = q.owner AND n.state <> 'GONE')
LIMIT 20
