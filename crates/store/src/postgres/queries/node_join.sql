-- Makes an incarnation a node, or renews the one it is; by the server's clock. Called by join.
-- Primary key of node.
INSERT INTO node (incarnation, number, kind, host, pid, version, labels, handlers, state, heartbeat_at, expires_at)
SELECT $1::bigint, $2::bigint, 'ENGINE', $3::text, $4::bigint, $5::text, $6::text, $7::text, 'ACTIVE', c.now, c.now + $8::bigint
FROM (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now) c
ON CONFLICT (incarnation) DO UPDATE SET heartbeat_at = excluded.heartbeat_at, expires_at = excluded.expires_at
