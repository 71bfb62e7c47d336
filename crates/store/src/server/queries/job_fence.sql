-- The newest fence of a job, to tell a late settlement from nonsense. Called by settle when the fence is gone.
-- Primary keys of async_task and job_queue.
SELECT greatest(t.fence, coalesce(q.fence, 0)) FROM async_task t LEFT JOIN job_queue q ON q.job_id = t.id WHERE t.id = $1
