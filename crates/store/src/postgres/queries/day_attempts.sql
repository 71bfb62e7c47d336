-- How many attempts these jobs have. Called by drop_history, for one partition.
-- Primary key of task_execution_log.
SELECT count(*) FROM task_execution_log WHERE job_id >= $1 AND job_id < $2
