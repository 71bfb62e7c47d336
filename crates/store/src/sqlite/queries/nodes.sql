-- Newest nodes, for people. Called by nodes.
-- Scans node: a row per start.
SELECT incarnation, number, host, pid, version, state, heartbeat_at FROM node ORDER BY heartbeat_at DESC, incarnation LIMIT 200
