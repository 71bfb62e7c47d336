-- The lanes of jobs that a leaving node holds in memory. Called by leave.
-- Scans job_queue_lane once per stop: jobs outside of lanes are not looked at.
SELECT task_code, lane, concurrency_key FROM job_queue INDEXED BY job_queue_lane
WHERE lane > 0 AND state = 1 AND owner = ?1
