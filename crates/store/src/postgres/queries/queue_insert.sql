-- The queue rows of jobs that are not final; with an owner they are claimed. Called by submit and fire.
-- Primary key of job_queue; enters job_queue_due only without an owner.
INSERT INTO job_queue (job_id, task_code, pool, priority, due, fence, owner, state)
SELECT b.job_id, b.task_code, b.pool, b.priority, b.due, b.fence, b.owner, b.state
FROM unnest($1::BIGINT[], $2::TEXT[], $3::TEXT[], $4::BIGINT[], $5::BIGINT[], $6::BIGINT[], $7::BIGINT[], $8::BIGINT[])
     AS b (job_id, task_code, pool, priority, due, fence, owner, state)
