-- Which server it is: MySQL's UUID; MariaDB's id is of the machine and the port, beside the number by which servers that copy
-- from each other differ. Called for each new connection. No table.
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_id', 'server_uid', 'server_uuid')
