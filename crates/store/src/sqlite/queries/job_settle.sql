-- What an outcome means for the record. Called by settle.
-- Primary key of async_task; a success touches no other index.
UPDATE async_task SET task_status = ?2, retry_count = retry_count + ?3, lost_count = lost_count + ?4, attempts = ?5,
       fence = ?6, start_time = ?7, finish_time = ?8, next_retry_time = ?9, result_summary = ?10, result_ref = ?11,
       error_msg = ?12, update_time = ?13
WHERE id = ?1
