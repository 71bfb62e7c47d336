-- Every other incarnation is certainly dead: one process owns the file. Called by join.
-- Scans node: a row per start, a handful alive.
UPDATE node SET state = 'GONE' WHERE incarnation <> ?1 AND state <> 'GONE'
