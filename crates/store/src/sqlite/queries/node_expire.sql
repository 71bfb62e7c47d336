-- Declares nodes gone whose lease has run out; the statement itself tests it. Called by take_over.
-- Scans node: a row per start, a handful alive.
UPDATE node SET state = 'GONE' WHERE state <> 'GONE' AND expires_at < ?1 RETURNING incarnation
