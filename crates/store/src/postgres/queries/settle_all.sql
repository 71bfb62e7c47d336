-- Outcomes of held jobs, and all that follows from them for these jobs alone. Answers those that were held. Called by settle.
-- Primary keys of job_queue, async_task, task_execution_log and job_key; a success changes no indexed column of its record.
WITH b AS (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
                         $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[],
                         $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::text[],
                         $20::text[], $21::text[], $22::text[])
        AS b (job_id, fence, owner, holds_lane, due, status, failures, losses, attempt, start_time, finish_time,
              skip_reason, result_ref, node, attempt_start, attempt_finish, attempt_status, cost_ms, task_code, summary,
              error, live_key)
), ended AS (
    DELETE FROM job_queue q USING b
    WHERE b.due IS NULL AND q.job_id = b.job_id AND q.fence = b.fence AND q.owner = b.owner AND q.state IN (1, 2)
      AND (q.lane = 0 OR b.holds_lane = 1)
    RETURNING q.job_id, q.lane, q.concurrency_key
), again AS (
    UPDATE job_queue q SET owner = NULL, state = 0, suspect = 0, due = b.due FROM b
    WHERE b.due IS NOT NULL AND q.job_id = b.job_id AND q.fence = b.fence AND q.owner = b.owner AND q.state IN (1, 2)
      AND (q.lane = 0 OR b.holds_lane = 1)
    RETURNING q.job_id, q.lane, q.concurrency_key
), held AS (
    SELECT * FROM ended UNION ALL SELECT * FROM again
), record AS (
    UPDATE async_task t
    SET task_status = b.status, retry_count = t.retry_count + b.failures, lost_count = t.lost_count + b.losses,
        attempts = b.attempt, fence = b.fence, start_time = b.start_time, finish_time = b.finish_time,
        next_retry_time = b.due, result_summary = b.summary, result_ref = b.result_ref, error_msg = b.error,
        skip_reason = coalesce(b.skip_reason, t.skip_reason), update_time = $23
    FROM held JOIN b ON b.job_id = held.job_id WHERE t.id = held.job_id
), attempt AS (
    INSERT INTO task_execution_log (job_id, fence, task_code, attempt, node, execute_time, finish_time, execute_status,
                                    cost_ms, create_time, result_ref, execute_result, error_message)
    SELECT b.job_id, b.fence, b.task_code, b.attempt, b.node, b.attempt_start, b.attempt_finish, b.attempt_status,
           b.cost_ms, $23, b.result_ref, b.summary, b.error
    FROM held JOIN b ON b.job_id = held.job_id
    ON CONFLICT (job_id, fence) DO UPDATE SET finish_time = excluded.finish_time,
        execute_status = excluded.execute_status, cost_ms = excluded.cost_ms, result_ref = excluded.result_ref,
        execute_result = excluded.execute_result, error_message = excluded.error_message
), freed AS (
    DELETE FROM job_key k USING ended JOIN b ON b.job_id = ended.job_id
    WHERE k.biz_id = b.live_key AND k.task_code = b.task_code AND k.job_id = b.job_id AND k.while_live = 1
)
SELECT job_id, lane, concurrency_key FROM held
