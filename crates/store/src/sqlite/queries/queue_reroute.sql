-- A part of a broadcast goes to another pool. Called by join, take_over and operate.
-- Primary key of job_queue; moves within job_queue_due.
UPDATE job_queue SET pool = ?2 WHERE job_id = ?1
