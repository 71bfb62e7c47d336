-- A change by a person, in the transaction of the change. Called by all such verbs.
-- Primary key of audit_log.
INSERT INTO audit_log (time, who, what, object, detail) VALUES ($1, $2, $3, $4, $5)
