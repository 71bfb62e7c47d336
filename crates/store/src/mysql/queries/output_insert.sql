-- Chunks of output, each once. Called by append_output.
-- Primary key of attempt_output.
INSERT IGNORE INTO attempt_output (job_id, fence, seq, time, stream, text)
SELECT b.job_id, b.fence, b.seq, b.time, b.stream, b.text FROM JSON_TABLE($1, '$[*]' COLUMNS (
    job_id BIGINT PATH '$[0]', fence BIGINT PATH '$[1]', seq BIGINT PATH '$[2]', time BIGINT PATH '$[3]',
    stream BIGINT PATH '$[4]', text LONGTEXT PATH '$[5]')) b
