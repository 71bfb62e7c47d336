-- Every other incarnation is certainly dead, or one of them is: the node's own past. Called by join.
-- Scans node: a row per start, a handful alive.
UPDATE node SET state = 'GONE' WHERE incarnation <> $1 AND incarnation = coalesce($2, incarnation) AND state <> 'GONE'
