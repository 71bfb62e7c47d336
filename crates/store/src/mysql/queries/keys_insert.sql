-- Takes keys, each for the first that asks; those that are taken are left out. Called by submit, fire and operate.
-- Primary key of job_key, in its order.
INSERT IGNORE INTO job_key (biz_id, task_code, job_id, while_live)
SELECT b.biz_id, b.task_code, b.job_id, b.while_live
FROM JSON_TABLE($1, '$[*]' COLUMNS (
    biz_id VARCHAR(255) PATH '$[0]', task_code VARCHAR(100) PATH '$[1]', job_id BIGINT PATH '$[2]',
    while_live BIGINT PATH '$[3]')) b
