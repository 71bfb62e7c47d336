-- Removes some of the output of these jobs. Called by drop_history.
-- Primary key of attempt_output.
DELETE FROM attempt_output o USING (
    SELECT job_id, fence, seq FROM attempt_output WHERE job_id >= $1 AND job_id < $2 ORDER BY job_id, fence, seq LIMIT $3
) s
WHERE o.job_id = s.job_id AND o.fence = s.fence AND o.seq = s.seq
