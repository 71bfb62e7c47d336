-- Parked jobs of tasks that are known now. Called by unpark.
-- Index job_queue_lane: as many of its entries as the tasks have live jobs.
UPDATE JSON_TABLE($1, '$[*]' COLUMNS (task_code VARCHAR(100) PATH '$[0]')) b
STRAIGHT_JOIN job_queue q ON q.task_code = b.task_code
SET q.state = 0 WHERE q.state = 3
