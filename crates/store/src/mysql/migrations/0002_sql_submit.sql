-- Submit from SQL: an application stores a job inside its own transaction, from any language. The checks are those of the
-- REST interface; a refusal is an error whose SQLSTATE says which (MS404 no such task, MS409 disabled, MS422 bad input).
-- A procedure, as functions need more rights where the binary log is on. Options come as JSON with the names of REST.

-- What the procedure holds of a task until its caller commits. The row of the task itself would be locked for everybody: fires
-- and results of the task would wait for the caller. `guarded` is 1 when jobs of the task are in lanes.
CREATE TABLE IF NOT EXISTS task_pin (
    task_code VARCHAR(100) PRIMARY KEY,
    guarded   BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;
INSERT IGNORE INTO task_pin (task_code, guarded)
SELECT task_code, overlap <> 'ALLOW' OR max_running IS NOT NULL OR rate_limit IS NOT NULL OR start_deadline_seconds IS NOT NULL
       OR COALESCE(every_rhythm = 'FIXED_DELAY', FALSE)
FROM task_info;

DROP PROCEDURE IF EXISTS mainspring_refuse;
CREATE PROCEDURE mainspring_refuse(IN code CHAR(3), IN words TEXT)
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE short VARCHAR(128) DEFAULT LEFT(words, 128);
    CASE code
        WHEN '404' THEN SIGNAL SQLSTATE 'MS404' SET MESSAGE_TEXT = short;
        WHEN '409' THEN SIGNAL SQLSTATE 'MS409' SET MESSAGE_TEXT = short;
        ELSE SIGNAL SQLSTATE 'MS422' SET MESSAGE_TEXT = short;
    END CASE;
END;

-- Text that is JSON within the bounds of the product; otherwise an error.
DROP PROCEDURE IF EXISTS mainspring_check_payload;
CREATE PROCEDURE mainspring_check_payload(IN payload LONGTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE escapes LONGTEXT CHARACTER SET utf8mb4;
    IF OCTET_LENGTH(payload) > 1048576 THEN
        CALL mainspring_refuse('422', CONCAT('the payload has ', OCTET_LENGTH(payload), ' bytes, at most 1048576 are accepted'));
    END IF;
    IF NOT JSON_VALID(payload) THEN
        CALL mainspring_refuse('422', 'the payload is not JSON, or is nested too deep');
    END IF;
    IF JSON_DEPTH(payload) > 65 THEN
        CALL mainspring_refuse('422', 'the payload is nested more than 64 deep');
    END IF;
    -- A backslash that is escaped itself begins nothing.
    SET escapes = REPLACE(payload, '\\\\', '');
    IF LOCATE('\\u0000', escapes) > 0 THEN
        CALL mainspring_refuse('422', 'the payload holds a NUL character, which not every database can store');
    END IF;
    IF LOCATE('\\ud', LOWER(escapes)) > 0 AND REGEXP_REPLACE(
        escapes, '\\\\u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}', ''
    ) REGEXP '\\\\u[dD][89a-fA-F][0-9a-fA-F]{2}' THEN
        CALL mainspring_refuse('422', 'the payload holds half of a surrogate pair, which is no character');
    END IF;
END;

-- The value at a JSON pointer, as the limits of a task count it.
DROP PROCEDURE IF EXISTS mainspring_key_of;
CREATE PROCEDURE mainspring_key_of(
    IN payload LONGTEXT CHARACTER SET utf8mb4,
    IN pointer TEXT CHARACTER SET utf8mb4,
    OUT found TEXT CHARACTER SET utf8mb4
)
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE path, part TEXT CHARACTER SET utf8mb4;
    DECLARE rest TEXT CHARACTER SET utf8mb4 DEFAULT SUBSTR(pointer, 2);
    DECLARE more BOOLEAN DEFAULT TRUE;
    DECLARE kind VARCHAR(40) CHARACTER SET utf8mb4;
    SET path = '$';
    WHILE more DO
        SET part = REPLACE(REPLACE(SUBSTRING_INDEX(rest, '/', 1), '~1', '/'), '~0', '~');
        SET more = LOCATE('/', rest) > 0;
        SET rest = SUBSTR(rest, LOCATE('/', rest) + 1);
        IF part REGEXP '^(0|[1-9][0-9]{0,8})$' AND JSON_TYPE(JSON_EXTRACT(payload, path)) = 'ARRAY' THEN
            SET path = CONCAT(path, '[', part, ']');
        ELSE
            SET path = CONCAT(path, '.', JSON_QUOTE(part));
        END IF;
    END WHILE;
    SET kind = JSON_TYPE(JSON_EXTRACT(payload, path));
    SET found = CASE
        WHEN kind IS NULL OR kind = 'NULL' THEN NULL
        WHEN kind = 'STRING' THEN JSON_UNQUOTE(JSON_EXTRACT(payload, path))
        ELSE CAST(JSON_EXTRACT(payload, path) AS CHAR)
    END;
    IF CHAR_LENGTH(found) > 200 THEN
        SET found = CONCAT(LEFT(found, 199), '…');
    END IF;
END;

DROP PROCEDURE IF EXISTS mainspring_submit;
CREATE PROCEDURE mainspring_submit(
    IN  of_task   VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE $collation,
    IN  payload   LONGTEXT CHARACTER SET utf8mb4 COLLATE $collation,
    -- NULL, or an object of: bizId, unique, executeTime (epoch milliseconds), delayMs, priority, maxRetry, timeoutSeconds.
    IN  options   LONGTEXT CHARACTER SET utf8mb4 COLLATE $collation,
    OUT new_id    BIGINT,
    OUT duplicate BOOLEAN
)
SQL SECURITY DEFINER MODIFIES SQL DATA
BEGIN
    -- Not by way of local time: the session may be in a zone that has some hours twice.
    DECLARE now_ms BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000;
    DECLARE due_ms, urgency, first_job, body_ref, guarded BIGINT;
    DECLARE said_retry, said_timeout, said_at, said_delay DECIMAL(65, 0);
    DECLARE said_key TEXT CHARACTER SET utf8mb4 COLLATE $collation;
    DECLARE said_unique, said_priority TEXT CHARACTER SET utf8mb4 COLLATE $collation;
    DECLARE body LONGTEXT CHARACTER SET utf8mb4 COLLATE $collation;
    DECLARE limit_key, key_pointer TEXT CHARACTER SET utf8mb4 COLLATE $collation;
    DECLARE t_status, t_pool, t_strategy TEXT CHARACTER SET utf8mb4 COLLATE $collation;
    DECLARE t_param LONGTEXT CHARACTER SET utf8mb4 COLLATE $collation;
    DECLARE t_priority, t_retry BIGINT;
    DECLARE is_missing BOOLEAN DEFAULT FALSE;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET is_missing = TRUE;

    -- The task as the caller's transaction sees it. The parent of a broadcast waits for a coordinator, not for a slot of its
    -- task's pool.
    SELECT task_status, IF(broadcast <> 0, '@broadcast', pool), fail_strategy, execute_param, priority, retry_count, concurrency_key
    INTO t_status, t_pool, t_strategy, t_param, t_priority, t_retry, key_pointer
    FROM task_info WHERE task_code = of_task;
    IF NOT is_missing THEN
        -- Until the end of the caller's transaction the task is not deleted, and its jobs enter or leave no lanes.
        SELECT p.guarded INTO guarded FROM task_pin p WHERE p.task_code = of_task LOCK IN SHARE MODE;
    END IF;
    IF is_missing THEN
        CALL mainspring_refuse('404', CONCAT('there is no task `', COALESCE(LEFT(of_task, 90), ''), '`'));
    END IF;
    IF t_status <> 'ENABLED' THEN
        CALL mainspring_refuse('409', CONCAT('task `', LEFT(of_task, 90), '` is disabled'));
    END IF;
    SET options = COALESCE(options, '{}');
    IF NOT JSON_VALID(options) OR JSON_TYPE(options) <> 'OBJECT' THEN
        CALL mainspring_refuse('422', 'options are not a JSON object');
    END IF;
    SET said_key = JSON_REMOVE(options, '$.bizId', '$.unique', '$.executeTime', '$.delayMs', '$.priority', '$.maxRetry',
                               '$.timeoutSeconds');
    IF JSON_LENGTH(said_key) > 0 THEN
        CALL mainspring_refuse('422', CONCAT('unknown options: ', LEFT(JSON_KEYS(said_key), 90)));
    END IF;
    SET said_key = IF(JSON_TYPE(JSON_EXTRACT(options, '$.bizId')) = 'NULL', NULL,
                      JSON_UNQUOTE(JSON_EXTRACT(options, '$.bizId')));
    IF CHAR_LENGTH(said_key) NOT BETWEEN 1 AND 200 OR said_key REGEXP '[[:cntrl:]]' THEN
        CALL mainspring_refuse('422', 'bizId must have 1 to 200 characters, none of them a control character');
    END IF;
    -- As a value of its own: what JSON functions give does not mix with words of another collation.
    SET said_unique = JSON_UNQUOTE(JSON_EXTRACT(options, '$.unique'));
    IF said_unique IS NULL THEN
        SET said_unique = 'ALWAYS';
    ELSEIF said_unique NOT IN ('ALWAYS', 'LIVE') THEN
        CALL mainspring_refuse('422', 'unique must be ALWAYS or LIVE');
    END IF;
    SET said_priority = JSON_UNQUOTE(JSON_EXTRACT(options, '$.priority'));
    SET urgency = FIELD(said_priority, 'critical', 'high', 'normal', 'low') - 1;
    IF said_priority IS NULL THEN
        SET urgency = t_priority;
    ELSEIF urgency < 0 THEN
        CALL mainspring_refuse('422', 'priority must be critical, high, normal or low');
    END IF;
    IF JSON_TYPE(JSON_EXTRACT(options, '$.maxRetry')) <> 'INTEGER'
       OR JSON_TYPE(JSON_EXTRACT(options, '$.timeoutSeconds')) <> 'INTEGER'
       OR JSON_TYPE(JSON_EXTRACT(options, '$.delayMs')) <> 'INTEGER'
       OR JSON_TYPE(JSON_EXTRACT(options, '$.executeTime')) <> 'INTEGER' THEN
        CALL mainspring_refuse('422', 'maxRetry, timeoutSeconds, delayMs and executeTime are whole numbers');
    END IF;
    SET said_retry = JSON_EXTRACT(options, '$.maxRetry'), said_timeout = JSON_EXTRACT(options, '$.timeoutSeconds');
    SET said_delay = JSON_EXTRACT(options, '$.delayMs'), said_at = JSON_EXTRACT(options, '$.executeTime');
    IF said_retry NOT BETWEEN 0 AND 10000 THEN
        CALL mainspring_refuse('422', 'maxRetry must be 0 to 10000');
    END IF;
    IF said_timeout NOT BETWEEN 1 AND 604800 THEN
        CALL mainspring_refuse('422', 'timeoutSeconds must be 1 to 604800');
    END IF;
    IF said_delay IS NOT NULL AND said_at IS NOT NULL THEN
        CALL mainspring_refuse('422', 'delayMs and executeTime exclude each other');
    END IF;
    IF COALESCE(now_ms + said_delay, said_at, 0) > 253402300799999 THEN
        CALL mainspring_refuse('422', 'the job would be due after the year 9999');
    END IF;
    SET due_ms = GREATEST(now_ms, COALESCE(now_ms + said_delay, said_at, now_ms));
    IF payload IS NOT NULL THEN
        CALL mainspring_check_payload(payload);
    END IF;

    -- The node number 1023 is that of jobs from SQL; two of them that draw the same number within a millisecond meet in
    -- the primary key, and the caller does it again.
    SET new_id = (GREATEST(now_ms - 1704067200000, 0) << 22) | (1023 << 12) | FLOOR(RAND() * 4096);
    SET duplicate = FALSE;
    SET body = COALESCE(payload, t_param);
    IF said_key IS NOT NULL THEN
        INSERT IGNORE INTO job_key (biz_id, task_code, job_id, while_live)
        VALUES (said_key, of_task, new_id, said_unique = 'LIVE');
        SELECT job_id INTO first_job FROM job_key WHERE biz_id = said_key AND task_code = of_task FOR UPDATE;
        IF first_job <> new_id THEN
            UPDATE async_task SET duplicates = duplicates + 1, last_duplicate = now_ms WHERE id = first_job;
            IF ROW_COUNT() > 0 THEN
                SET new_id = first_job, duplicate = TRUE;
            ELSE
                -- The record of the first job is gone, and its key was left: it is this one's now.
                UPDATE job_key SET job_id = new_id, while_live = (said_unique = 'LIVE')
                WHERE biz_id = said_key AND task_code = of_task;
            END IF;
        END IF;
    END IF;
    IF NOT duplicate THEN
        IF key_pointer IS NOT NULL AND body IS NOT NULL THEN
            CALL mainspring_key_of(body, key_pointer, limit_key);
        END IF;
        IF OCTET_LENGTH(body) > 16384 THEN
            INSERT INTO attachment (kind, bytes) VALUES ('payload', body);
            SET body_ref = LAST_INSERT_ID();
        END IF;
        INSERT INTO async_task (id, task_code, task_status, pool, trigger_type, priority, unique_mode, biz_id, max_retry,
                                fence, execute_time, timeout_ms, payload_ref, create_time, update_time, payload,
                                concurrency_key)
        VALUES (new_id, of_task, 0, t_pool, 0, urgency, said_unique = 'LIVE', said_key,
                COALESCE(said_retry, IF(t_strategy = 'RETRY', t_retry, 0)), 0, due_ms, said_timeout * 1000, body_ref,
                now_ms, now_ms, IF(body_ref IS NULL, body, NULL), limit_key);
        INSERT INTO job_queue (job_id, task_code, pool, priority, due, fence, state, lane, concurrency_key)
        VALUES (new_id, of_task, t_pool, urgency, due_ms, 0, 0, guarded, IF(guarded, COALESCE(limit_key, ''), NULL));
    END IF;
END;
