-- What several nodes need: labels, limits for all nodes together, broadcasts.

ALTER TABLE node ADD COLUMN labels TEXT NOT NULL DEFAULT '[]';
ALTER TABLE node ADD COLUMN handlers TEXT NOT NULL DEFAULT '[]';

ALTER TABLE task_info ADD COLUMN node_labels TEXT NOT NULL DEFAULT '[]';
ALTER TABLE task_info ADD COLUMN broadcast INTEGER NOT NULL DEFAULT 0;

ALTER TABLE async_task ADD COLUMN shard_index INTEGER;
ALTER TABLE async_task ADD COLUMN shard_total INTEGER;

ALTER TABLE pool ADD COLUMN cluster_concurrency INTEGER;
