-- What an earlier try of the same call made of a job. Called by submit and fire.
-- Primary keys of async_task and job_queue.
SELECT t.skip_reason, t.fence, q.state, q.owner, q.fence
FROM async_task t LEFT JOIN job_queue q ON q.job_id = t.id WHERE t.id = ?1
