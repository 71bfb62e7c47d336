-- The queue rows of jobs that are not final; with an owner they are claimed. Called by submit and fire.
-- Primary key of job_queue; enters all its indexes.
INSERT INTO job_queue (job_id, task_code, pool, priority, due, fence, owner, state)
SELECT b.job_id, b.task_code, b.pool, b.priority, b.due, b.fence, b.owner, b.state
FROM JSON_TABLE($1, '$[*]' COLUMNS (
    job_id BIGINT PATH '$[0]', task_code VARCHAR(100) PATH '$[1]', pool VARCHAR(60) PATH '$[2]',
    priority BIGINT PATH '$[3]', due BIGINT PATH '$[4]', fence BIGINT PATH '$[5]', owner BIGINT PATH '$[6]',
    state BIGINT PATH '$[7]')) b
