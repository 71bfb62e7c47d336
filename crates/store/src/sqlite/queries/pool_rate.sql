-- The rate of one pool. Called by claim, once per pool.
-- Primary key of pool.
SELECT rate_limit FROM pool WHERE name = ?1
