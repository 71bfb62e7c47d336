-- What an earlier try of the same call made of its jobs. Called by submit and fire.
-- Primary keys of async_task and job_queue.
SELECT t.id, t.skip_reason, t.fence, q.state, q.owner, q.fence
FROM unnest($1::BIGINT[]) AS b (id) JOIN async_task t ON t.id = ANY (ARRAY[b.id]) LEFT JOIN job_queue q ON q.job_id = ANY (ARRAY[b.id])
