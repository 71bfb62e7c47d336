-- An attachment without its row. Called by submit and fire.
-- Primary key of attachment.
DELETE FROM attachment WHERE id = $1
