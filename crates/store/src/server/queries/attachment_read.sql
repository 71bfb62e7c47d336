-- Called by whoever shows or runs a job.
-- Primary key of attachment.
SELECT bytes FROM attachment WHERE id = $1
