-- Renews the node's lease by the server's clock, unless it was declared gone. Called by heartbeat.
-- Primary key of node.
UPDATE node SET heartbeat_at = CAST(floor(unix_timestamp(now(3)) * 1000) AS SIGNED), expires_at = heartbeat_at + $2
WHERE incarnation = $1 AND state <> 'GONE'
