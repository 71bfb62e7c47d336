-- Outcomes of held jobs, and all that follows from them for these jobs alone. Answers those that were held. Called by settle.
-- Primary keys of job_queue, async_task, task_execution_log and job_key; a success changes no indexed column of its record.
-- What was held carries its values along: to join them again would compare each with each.
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
    WHERE b.due IS NULL AND q.job_id = ANY (ARRAY[b.job_id]) AND q.fence = b.fence AND q.owner IS NOT DISTINCT FROM b.owner
      AND q.state IN (1, 2) AND (q.lane = 0 OR b.holds_lane = 1)
    RETURNING b.*, q.lane AS queue_lane, q.concurrency_key AS queue_key
), again AS (
    UPDATE job_queue q SET owner = NULL, state = 0, suspect = 0, due = b.due FROM b
    WHERE b.due IS NOT NULL AND q.job_id = ANY (ARRAY[b.job_id]) AND q.fence = b.fence AND q.owner IS NOT DISTINCT FROM b.owner
      AND q.state IN (1, 2) AND (q.lane = 0 OR b.holds_lane = 1)
    RETURNING b.*, q.lane AS queue_lane, q.concurrency_key AS queue_key
), held AS (
    SELECT * FROM ended UNION ALL SELECT * FROM again
), record AS (
    UPDATE async_task t
    SET task_status = h.status, retry_count = t.retry_count + h.failures, lost_count = t.lost_count + h.losses,
        attempts = h.attempt, fence = h.fence, start_time = h.start_time, finish_time = h.finish_time,
        next_retry_time = h.due, result_summary = h.summary, result_ref = h.result_ref, error_msg = h.error,
        skip_reason = coalesce(h.skip_reason, t.skip_reason), update_time = $23
    FROM held h WHERE t.id = ANY (ARRAY[h.job_id])
), attempt AS (
    INSERT INTO task_execution_log (job_id, fence, task_code, attempt, node, execute_time, finish_time, execute_status,
                                    cost_ms, create_time, result_ref, execute_result, error_message)
    SELECT h.job_id, h.fence, h.task_code, h.attempt, h.node, h.attempt_start, h.attempt_finish, h.attempt_status,
           h.cost_ms, $23, h.result_ref, h.summary, h.error
    FROM held h
    ON CONFLICT (job_id, fence) DO UPDATE SET finish_time = excluded.finish_time,
        execute_status = excluded.execute_status, cost_ms = excluded.cost_ms, result_ref = excluded.result_ref,
        execute_result = excluded.execute_result, error_message = excluded.error_message
), freed AS (
    DELETE FROM job_key k USING ended e
    WHERE k.biz_id = ANY (ARRAY[e.live_key]) AND k.task_code = e.task_code AND k.job_id = e.job_id AND k.while_live = 1
)
SELECT job_id, queue_lane, queue_key FROM held
