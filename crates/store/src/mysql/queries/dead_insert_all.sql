-- Jobs that wait for a person. Called by settle.
-- Primary key of dead_job.
INSERT INTO dead_job (job_id, cause, task_code, time)
SELECT b.job_id, b.cause, b.task_code, $2
FROM JSON_TABLE($1, '$[*]' COLUMNS (
    job_id BIGINT PATH '$[0]', cause BIGINT PATH '$[1]', task_code VARCHAR(100) PATH '$[2]')) b
ON DUPLICATE KEY UPDATE cause = VALUES(cause), time = VALUES(time), closed_at = NULL, closed_by = NULL
