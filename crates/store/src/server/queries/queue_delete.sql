-- A person ends the job; the new fence in its record refuses whoever holds it. Called by operate, and by submit and fire for a job that is replaced.
-- Primary key of job_queue.
DELETE FROM job_queue WHERE job_id = $1
