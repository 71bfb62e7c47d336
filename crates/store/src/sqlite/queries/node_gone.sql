-- The polite end of a node. Called by leave.
-- Primary key of node.
UPDATE node SET state = 'GONE', heartbeat_at = ?2 WHERE incarnation = ?1
