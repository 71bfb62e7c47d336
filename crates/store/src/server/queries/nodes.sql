-- All nodes that live, and the newest that are gone. Called by nodes.
-- Scans node: a row per start of the last weeks.
(SELECT incarnation, number, host, pid, version, state, labels, handlers, heartbeat_at, expires_at
 FROM node WHERE state <> 'GONE')
UNION ALL
(SELECT incarnation, number, host, pid, version, state, labels, handlers, heartbeat_at, expires_at
 FROM node WHERE state = 'GONE' ORDER BY heartbeat_at DESC, incarnation LIMIT 200)
ORDER BY heartbeat_at DESC, incarnation
