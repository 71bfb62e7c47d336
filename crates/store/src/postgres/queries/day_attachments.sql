-- Removes the large payloads and results of these jobs. Called by drop_history, for one dropped partition.
-- Primary keys of async_task, task_execution_log and attachment.
DELETE FROM attachment a USING (
    SELECT payload_ref AS id FROM async_task WHERE id >= $1 AND id < $2 AND payload_ref IS NOT NULL
    UNION ALL
    SELECT result_ref FROM async_task WHERE id >= $1 AND id < $2 AND result_ref IS NOT NULL
    UNION ALL
    SELECT result_ref FROM task_execution_log WHERE job_id >= $1 AND job_id < $2 AND result_ref IS NOT NULL
) r
WHERE a.id = ANY (ARRAY[r.id])
