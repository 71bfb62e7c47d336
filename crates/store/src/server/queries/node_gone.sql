-- The polite end of a node. Called by leave.
-- Primary key of node.
UPDATE node SET state = 'GONE' WHERE incarnation = $1
