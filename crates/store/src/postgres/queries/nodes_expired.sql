-- Nodes whose lease has run out by the server's clock, without those that renew it just now. Called by take_over.
-- Scans node: a row per start, a handful alive.
SELECT incarnation FROM node
WHERE state <> 'GONE' AND expires_at < floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
ORDER BY incarnation FOR UPDATE SKIP LOCKED
