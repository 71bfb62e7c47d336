-- Chunks of output, each once. Called by append_output.
-- Primary key of attempt_output.
INSERT INTO attempt_output (job_id, fence, seq, time, stream, text)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[])
     AS b (job_id, fence, seq, time, stream, text)
ON CONFLICT DO NOTHING
