-- What a fence is at least that a lost history may have given out. Called by operate.
-- Primary key of cluster.
SELECT fence_floor FROM cluster WHERE id = 1
