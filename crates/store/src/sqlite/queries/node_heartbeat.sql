-- Renews the node's lease, unless it was declared gone. Called by heartbeat.
-- Primary key of node.
UPDATE node SET heartbeat_at = ?2, expires_at = ?3 WHERE incarnation = ?1 AND state <> 'GONE' RETURNING state
