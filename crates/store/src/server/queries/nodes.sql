-- Newest nodes, for people. Called by nodes.
-- Scans node: a row per start.
SELECT incarnation, number, host, pid, version, state, labels, handlers, heartbeat_at, expires_at
FROM node ORDER BY heartbeat_at DESC, incarnation LIMIT 200
