-- Which server it is. MariaDB has no UUID, but servers that copy from each other differ in their numbers. Called for each
-- new connection. No table.
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_id', 'server_uuid')
