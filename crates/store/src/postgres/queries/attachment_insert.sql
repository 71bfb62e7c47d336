-- A payload or a result that is too long for its row. Called by submit, fire and settle.
-- Primary key of attachment.
INSERT INTO attachment (kind, bytes) VALUES ($1, $2) RETURNING id
