-- The lanes of jobs in the memory of dead nodes. Called by join.
-- Scans job_queue_lane once per start: jobs outside of lanes are not looked at.
SELECT task_code, lane, concurrency_key FROM job_queue INDEXED BY job_queue_lane
WHERE lane > 0 AND state = 1 AND owner NOT IN (SELECT incarnation FROM node WHERE state <> 'GONE')
