-- Declares a node gone whose lease has run out; the statement itself tests it. Called by take_over.
-- Primary key of node.
UPDATE node SET state = 'GONE'
WHERE incarnation = $1 AND state <> 'GONE' AND expires_at < CAST(floor(unix_timestamp(now(3)) * 1000) AS SIGNED)
