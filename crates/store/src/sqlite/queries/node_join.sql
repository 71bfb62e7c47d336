-- Makes an incarnation a node, or renews the one it is. Called by join.
-- Primary key of node.
INSERT INTO node (incarnation, number, kind, host, pid, version, state, heartbeat_at, expires_at, labels, handlers)
VALUES (?1, ?2, 'ENGINE', ?3, ?4, ?5, 'ACTIVE', ?6, ?7, ?8, ?9)
ON CONFLICT (incarnation) DO UPDATE SET heartbeat_at = excluded.heartbeat_at, expires_at = excluded.expires_at
