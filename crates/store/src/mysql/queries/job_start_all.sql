-- EXECUTING becomes visible. Called by mark_started.
-- Primary key of async_task; touches no other index.
UPDATE JSON_TABLE($1, '$[*]' COLUMNS (
    job_id BIGINT PATH '$[0]', fence BIGINT PATH '$[1]', attempt BIGINT PATH '$[2]', start_time BIGINT PATH '$[3]')) b
STRAIGHT_JOIN async_task t FORCE INDEX (PRIMARY) ON t.id = b.job_id
SET t.task_status = 1, t.fence = b.fence, t.attempts = b.attempt, t.start_time = b.start_time,
    t.update_time = b.start_time
