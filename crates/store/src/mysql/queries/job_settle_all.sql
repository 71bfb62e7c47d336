-- What outcomes mean for the records. Called by settle.
-- Primary key of async_task; a success touches no other index.
UPDATE JSON_TABLE($1, '$[*]' COLUMNS (
    job_id BIGINT PATH '$[0]', fence BIGINT PATH '$[1]', due BIGINT PATH '$[2]', status BIGINT PATH '$[3]',
    failures BIGINT PATH '$[4]', losses BIGINT PATH '$[5]', attempt BIGINT PATH '$[6]', start_time BIGINT PATH '$[7]',
    finish_time BIGINT PATH '$[8]', skip_reason BIGINT PATH '$[9]', result_ref BIGINT PATH '$[10]',
    summary LONGTEXT PATH '$[11]', error LONGTEXT PATH '$[12]')) b
STRAIGHT_JOIN async_task t FORCE INDEX (PRIMARY) ON t.id = b.job_id
SET t.task_status = b.status, t.retry_count = t.retry_count + b.failures, t.lost_count = t.lost_count + b.losses,
    t.attempts = b.attempt, t.fence = b.fence, t.start_time = b.start_time, t.finish_time = b.finish_time,
    t.next_retry_time = b.due, t.result_summary = b.summary, t.result_ref = b.result_ref, t.error_msg = b.error,
    t.skip_reason = coalesce(b.skip_reason, t.skip_reason), t.update_time = $2
