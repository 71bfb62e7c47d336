-- How the node stands, what is new, and the server's time. Called by heartbeat.
-- Primary keys of cluster and node.
SELECT n.state, c.definitions, c.history, c.beats, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
FROM cluster c LEFT JOIN node n ON n.incarnation = $1 WHERE c.id = 1
