-- The queue rows of a batch with jobs in lanes. Called by submit, fire and operate.
-- Primary key of job_queue; enters job_queue_lane, and job_queue_due without an owner.
INSERT INTO job_queue (job_id, task_code, pool, priority, due, fence, owner, state, lane, concurrency_key)
SELECT b.job_id, b.task_code, b.pool, b.priority, b.due, b.fence, b.owner, b.state, b.lane, b.concurrency_key
FROM unnest($1::BIGINT[], $2::TEXT[], $3::TEXT[], $4::BIGINT[], $5::BIGINT[], $6::BIGINT[], $7::BIGINT[],
            $8::BIGINT[], $9::BIGINT[], $10::TEXT[])
     AS b (job_id, task_code, pool, priority, due, fence, owner, state, lane, concurrency_key)
