-- Why a job ended without a body. Called by settle and expire.
-- Primary key of async_task; touches no other index.
UPDATE async_task SET skip_reason = $2 WHERE id = $1
