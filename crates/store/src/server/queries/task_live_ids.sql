-- Live jobs of a task that has no lanes. Called by submit and fire for a job that replaces them.
-- Scans the narrow job_queue: such a job means that the caller's copy of the task is out of date.
SELECT job_id FROM job_queue WHERE task_code = $1 ORDER BY job_id
