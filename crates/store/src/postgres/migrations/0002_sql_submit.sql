-- Submit from SQL: an application stores a job inside its own transaction, from any language. The checks are those of the
-- REST interface; a refusal is an error whose SQLSTATE says which (MS404 no such task, MS409 disabled, MS422 bad input).

-- With the milliseconds and a node number of its own it makes the ids of these jobs.
CREATE SEQUENCE mainspring_submit_sequence MINVALUE 0 MAXVALUE 4095 START 0 CYCLE;

-- Text that is JSON within the bounds of the product; otherwise an error.
CREATE FUNCTION mainspring_check_payload(payload text) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    brackets text;
    deep     integer := 0;
BEGIN
    IF octet_length(payload) > 1048576 THEN
        RAISE EXCEPTION 'the payload has % bytes, at most 1048576 are accepted', octet_length(payload)
            USING ERRCODE = 'MS422', HINT = 'store the data elsewhere and pass a reference to it';
    END IF;
    -- Without its strings, of brackets only; each round takes the innermost away.
    brackets := translate(regexp_replace(regexp_replace(payload, '"(\\.|[^"\\])*"', '', 'g'), '[^][{}]', '', 'g'),
                          '{}', '[]');
    WHILE brackets <> '' AND deep <= 64 AND position('[]' IN brackets) > 0 LOOP
        brackets := replace(brackets, '[]', '');
        deep := deep + 1;
    END LOOP;
    IF deep > 64 THEN
        RAISE EXCEPTION 'the payload is nested more than 64 deep' USING ERRCODE = 'MS422';
    END IF;
    BEGIN
        -- As jsonb: it refuses a NUL and half a surrogate pair too.
        PERFORM payload::jsonb;
    EXCEPTION WHEN data_exception OR untranslatable_character OR statement_too_complex THEN
        RAISE EXCEPTION 'the payload is not JSON that can be stored: %', sqlerrm USING ERRCODE = 'MS422';
    END;
END $$;

-- The value at a JSON pointer, as the limits of a task count it.
CREATE FUNCTION mainspring_key_of(payload text, pointer text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN length(found) > 200 THEN left(found, 199) || '…' ELSE found END
    FROM (SELECT payload::json #>> ARRAY(
              SELECT replace(replace(part, '~1', '/'), '~0', '~')
              FROM unnest(string_to_array(substr(pointer, 2), '/')) WITH ORDINALITY AS parts (part, place)
              ORDER BY place
          ) AS found) AS looked
$$;

CREATE FUNCTION mainspring_submit(
    task            text,
    payload         text        DEFAULT NULL,
    biz_id          text        DEFAULT NULL,
    unique_mode     text        DEFAULT 'ALWAYS',
    execute_time    timestamptz DEFAULT NULL,
    delay           interval    DEFAULT NULL,
    priority        text        DEFAULT NULL,
    max_retry       integer     DEFAULT NULL,
    timeout_seconds integer     DEFAULT NULL,
    OUT id          bigint,
    OUT duplicate   boolean
) RETURNS record
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
    of_task    record;
    now_ms     bigint := floor(extract(epoch FROM clock_timestamp()) * 1000);
    due_ms     bigint;
    urgency    bigint;
    body       text;
    body_ref   bigint;
    key        text;
    is_guarded boolean;
    waits_in   text;
    first_job  bigint;
BEGIN
    -- Until the end of the caller's transaction the task is not deleted.
    SELECT * INTO of_task FROM task_info t WHERE t.task_code = mainspring_submit.task FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no task `%`', left(task, 200) USING ERRCODE = 'MS404';
    ELSIF of_task.task_status <> 'ENABLED' THEN
        RAISE EXCEPTION 'task `%` is disabled', task USING ERRCODE = 'MS409', HINT = 'enable it, then submit again';
    ELSIF mainspring_submit.biz_id = '' OR length(mainspring_submit.biz_id) > 200 THEN
        RAISE EXCEPTION 'biz_id has % characters, allowed are 1 to 200', length(mainspring_submit.biz_id)
            USING ERRCODE = 'MS422';
    ELSIF mainspring_submit.biz_id ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION 'biz_id holds a control character' USING ERRCODE = 'MS422';
    ELSIF coalesce(unique_mode, '') NOT IN ('ALWAYS', 'LIVE') THEN
        RAISE EXCEPTION 'unique_mode is `%`, allowed are ALWAYS and LIVE', unique_mode USING ERRCODE = 'MS422';
    ELSIF execute_time IS NOT NULL AND delay IS NOT NULL THEN
        RAISE EXCEPTION 'execute_time and delay exclude each other' USING ERRCODE = 'MS422';
    ELSIF max_retry NOT BETWEEN 0 AND 10000 THEN
        RAISE EXCEPTION 'max_retry is %, allowed are 0 to 10000', max_retry USING ERRCODE = 'MS422';
    ELSIF timeout_seconds NOT BETWEEN 1 AND 604800 THEN
        RAISE EXCEPTION 'timeout_seconds is %, allowed are 1 to 604800', timeout_seconds USING ERRCODE = 'MS422';
    END IF;
    urgency := coalesce(array_position(ARRAY['critical', 'high', 'normal', 'low'], priority) - 1, of_task.priority);
    IF priority IS NOT NULL AND priority NOT IN ('critical', 'high', 'normal', 'low') THEN
        RAISE EXCEPTION 'priority is `%`, allowed are critical, high, normal, low', priority USING ERRCODE = 'MS422';
    END IF;
    IF payload IS NOT NULL THEN
        PERFORM mainspring_check_payload(payload);
    END IF;
    due_ms := greatest(now_ms, CASE
        WHEN delay IS NOT NULL THEN now_ms + floor(extract(epoch FROM delay) * 1000)::bigint
        WHEN execute_time IS NOT NULL THEN floor(extract(epoch FROM execute_time) * 1000)::bigint
        ELSE now_ms END);
    IF due_ms > 253402300799999 THEN
        RAISE EXCEPTION 'the job would be due after the year 9999' USING ERRCODE = 'MS422';
    END IF;
    id := (greatest(now_ms - 1704067200000, 0) << 22) | (1023 << 12) | nextval('mainspring_submit_sequence');
    duplicate := false;
    IF biz_id IS NOT NULL THEN
        LOOP
            INSERT INTO job_key (biz_id, task_code, job_id, while_live)
            VALUES (mainspring_submit.biz_id, task, id, (unique_mode = 'LIVE')::int)
            ON CONFLICT DO NOTHING;
            EXIT WHEN FOUND;
            SELECT k.job_id INTO first_job FROM job_key k
            WHERE k.biz_id = mainspring_submit.biz_id AND k.task_code = task FOR UPDATE;
            -- A key that its job gave back in between is free: again.
            CONTINUE WHEN NOT FOUND;
            UPDATE async_task a SET duplicates = a.duplicates + 1, last_duplicate = now_ms WHERE a.id = first_job;
            IF FOUND THEN
                id := first_job;
                duplicate := true;
                RETURN;
            END IF;
            -- The record of the first job is gone, and its key was left: it is this one's now.
            UPDATE job_key k SET job_id = mainspring_submit.id, while_live = (unique_mode = 'LIVE')::int
            WHERE k.biz_id = mainspring_submit.biz_id AND k.task_code = task;
            EXIT;
        END LOOP;
    END IF;
    -- The parent of a broadcast waits for a coordinator, not for a slot of its task's pool.
    waits_in := CASE WHEN of_task.broadcast <> 0 THEN '@broadcast' ELSE of_task.pool END;
    body := coalesce(payload, of_task.execute_param);
    key := CASE WHEN of_task.concurrency_key IS NOT NULL AND body IS NOT NULL
                THEN mainspring_key_of(body, of_task.concurrency_key) END;
    IF octet_length(body) > 16384 THEN
        INSERT INTO attachment (kind, bytes) VALUES ('payload', convert_to(body, 'UTF8')) RETURNING attachment.id INTO body_ref;
    END IF;
    INSERT INTO async_task (id, task_code, task_status, pool, trigger_type, priority, unique_mode, biz_id, max_retry, fence,
                            execute_time, timeout_ms, payload_ref, create_time, update_time, payload, concurrency_key)
    VALUES (mainspring_submit.id, task, 0, waits_in, 0, urgency, (unique_mode = 'LIVE')::int,
            mainspring_submit.biz_id,
            coalesce(max_retry, CASE WHEN of_task.fail_strategy = 'RETRY' THEN of_task.retry_count ELSE 0 END), 0,
            due_ms, timeout_seconds::bigint * 1000, body_ref, now_ms, now_ms,
            CASE WHEN body_ref IS NULL THEN body END, key);
    is_guarded := of_task.overlap <> 'ALLOW' OR of_task.max_running IS NOT NULL OR of_task.rate_limit IS NOT NULL
        OR of_task.start_deadline_seconds IS NOT NULL OR of_task.every_rhythm = 'FIXED_DELAY';
    INSERT INTO job_queue (job_id, task_code, pool, priority, due, fence, state, lane, concurrency_key)
    VALUES (mainspring_submit.id, task, waits_in, urgency, due_ms, 0, 0, coalesce(is_guarded, false)::int,
            CASE WHEN is_guarded THEN coalesce(key, '') END);
    -- Nodes look by themselves too: the notice only makes it sooner.
    PERFORM pg_notify('mainspring', 'jobs');
END $$;

COMMENT ON FUNCTION mainspring_submit IS 'Stores a job of Mainspring in the caller''s transaction.';
REVOKE ALL ON FUNCTION mainspring_submit FROM PUBLIC;
