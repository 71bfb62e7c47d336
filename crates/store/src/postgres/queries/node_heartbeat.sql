-- Renews the node's lease by the server's clock, unless it was declared gone. Called by heartbeat.
-- Primary key of node.
UPDATE node SET heartbeat_at = c.now, expires_at = c.now + $2
FROM (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now) c
WHERE incarnation = $1 AND state <> 'GONE'
