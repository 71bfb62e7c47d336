-- Called by drain_node.
-- Primary key of node.
UPDATE node SET state = 'DRAINING' WHERE incarnation = $1 AND state <> 'GONE'
