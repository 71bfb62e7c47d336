-- A chunk of output, once. Called by append_output.
-- Primary key of attempt_output.
INSERT INTO attempt_output (job_id, fence, seq, time, stream, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT DO NOTHING
