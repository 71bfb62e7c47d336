-- Every other incarnation is certainly dead: one process owns the file. Called by join, also for the node's own past.
-- Scans node: a row per start, a handful alive.
UPDATE node SET state = 'GONE' WHERE incarnation <> ?1 AND (?2 IS NULL OR incarnation = ?2) AND state <> 'GONE'
