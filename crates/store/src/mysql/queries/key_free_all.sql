-- The keys of jobs that are final now. Called by settle.
-- Primary key of job_key.
DELETE k FROM JSON_TABLE($1, '$[*]' COLUMNS (
    job_id BIGINT PATH '$[0]', biz_id VARCHAR(255) PATH '$[1]', task_code VARCHAR(100) PATH '$[2]')) b
STRAIGHT_JOIN job_key k FORCE INDEX (PRIMARY) ON k.biz_id = b.biz_id AND k.task_code = b.task_code
WHERE k.job_id = b.job_id AND k.while_live = 1
