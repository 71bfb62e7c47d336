-- Was this incarnation declared gone? Called by join.
-- Primary key of node.
SELECT 1 FROM node WHERE incarnation = ?1 AND state = 'GONE'
