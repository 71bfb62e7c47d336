-- Makes an incarnation a node, or renews the one it is; by the server's clock. Called by join.
-- Primary key of node.
INSERT INTO node (incarnation, number, kind, host, pid, version, labels, handlers, state, heartbeat_at, expires_at)
SELECT $1, $2, 'ENGINE', $3, $4, $5, $6, $7, 'ACTIVE', c.now, c.now + $8
FROM (SELECT CAST(floor(unix_timestamp(now(3)) * 1000) AS SIGNED) AS now) c
ON DUPLICATE KEY UPDATE heartbeat_at = VALUES(heartbeat_at), expires_at = VALUES(expires_at)
