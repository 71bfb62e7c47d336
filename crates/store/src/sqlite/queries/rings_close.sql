-- Nobody waits for a rate any more. Called by judge_rates_anew.
-- Partial index rate_ring_open.
UPDATE rate_ring SET open_at = NULL WHERE open_at IS NOT NULL
