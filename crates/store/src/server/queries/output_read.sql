-- Chunks after a sequence number, in order. Called by output.
-- Primary key of attempt_output, in its order.
SELECT seq, time, stream, text FROM attempt_output WHERE job_id = $1 AND fence = $2 AND seq > $3 ORDER BY seq LIMIT $4
