-- The first schema. Times are epoch milliseconds, UTC; codes are those of the model's closed sets.

CREATE TABLE store_meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE task_info (
    id                    INTEGER PRIMARY KEY,
    task_code             TEXT    NOT NULL UNIQUE,
    task_name             TEXT    NOT NULL,
    task_type             TEXT    NOT NULL,
    task_handler          TEXT    NOT NULL,
    cron_expression       TEXT,
    time_zone             TEXT,
    task_status           TEXT    NOT NULL,
    execute_param         TEXT,
    timeout_seconds       INTEGER NOT NULL,
    fail_strategy         TEXT    NOT NULL,
    retry_count           INTEGER NOT NULL,
    retry_base_ms         INTEGER NOT NULL,
    retry_cap_ms          INTEGER NOT NULL,
    pool                  TEXT    NOT NULL,
    priority              INTEGER NOT NULL,
    overlap               TEXT    NOT NULL,
    max_running           INTEGER,
    misfire               TEXT    NOT NULL,
    misfire_grace_seconds INTEGER NOT NULL,
    max_catchup           INTEGER NOT NULL,
    on_lost               TEXT    NOT NULL,
    next_fire_time        INTEGER,
    prev_fire_time        INTEGER,
    owner                 TEXT,
    tags                  TEXT    NOT NULL,
    description           TEXT,
    version               INTEGER NOT NULL,
    create_time           INTEGER NOT NULL,
    update_time           INTEGER NOT NULL
) STRICT;

-- The record of a job, for life. What lists filter on comes first, what is long comes last: a scan then reads no
-- overflow pages.
CREATE TABLE async_task (
    id              INTEGER PRIMARY KEY,
    task_code       TEXT    NOT NULL,
    task_status     INTEGER NOT NULL,
    pool            TEXT    NOT NULL,
    trigger_type    INTEGER NOT NULL,
    priority        INTEGER NOT NULL,
    unique_mode     INTEGER NOT NULL,
    biz_id          TEXT,
    retry_count     INTEGER NOT NULL DEFAULT 0,
    max_retry       INTEGER NOT NULL,
    lost_count      INTEGER NOT NULL DEFAULT 0,
    attempts        INTEGER NOT NULL DEFAULT 0,
    duplicates      INTEGER NOT NULL DEFAULT 0,
    last_duplicate  INTEGER,
    fence           INTEGER NOT NULL,
    execute_time    INTEGER NOT NULL,
    next_retry_time INTEGER,
    start_time      INTEGER,
    finish_time     INTEGER,
    timeout_ms      INTEGER,
    fire_time       INTEGER,
    workflow_run_id INTEGER,
    step            TEXT,
    payload_ref     INTEGER,
    result_ref      INTEGER,
    create_time     INTEGER NOT NULL,
    update_time     INTEGER NOT NULL,
    result_summary  TEXT,
    error_msg       TEXT,
    payload         TEXT
) STRICT;
CREATE INDEX async_task_by_task ON async_task (task_code, id);
-- Also the jobs that freed their key. Partial: a job without a key never touches it.
CREATE INDEX async_task_by_key ON async_task (biz_id, id) WHERE biz_id IS NOT NULL;
-- Partial: a job that succeeds never touches these two.
CREATE INDEX async_task_by_status ON async_task (task_status, id) WHERE task_status > 2 AND task_status <> 6;
CREATE INDEX async_task_by_status_task ON async_task (task_status, task_code, id) WHERE task_status > 2 AND task_status <> 6;

CREATE TABLE job_key (
    biz_id     TEXT    NOT NULL,
    task_code  TEXT    NOT NULL,
    job_id     INTEGER NOT NULL,
    while_live INTEGER NOT NULL,
    PRIMARY KEY (biz_id, task_code)
) STRICT, WITHOUT ROWID;

-- A row exists only while the job is not final: the table stays small and hot whatever the history weighs.
CREATE TABLE job_queue (
    job_id          INTEGER PRIMARY KEY,
    task_code       TEXT    NOT NULL,
    pool            TEXT    NOT NULL,
    priority        INTEGER NOT NULL,
    due             INTEGER NOT NULL,
    fence           INTEGER NOT NULL,
    owner           INTEGER,
    state           INTEGER NOT NULL,
    suspect         INTEGER NOT NULL DEFAULT 0,
    concurrency_key TEXT
) STRICT;
-- A job that is claimed by its own insert never enters it.
CREATE INDEX job_queue_due ON job_queue (pool, priority, due) WHERE owner IS NULL AND state = 0;
CREATE INDEX job_queue_state ON job_queue (state) WHERE state > 1;

CREATE TABLE task_execution_log (
    job_id         INTEGER NOT NULL,
    fence          INTEGER NOT NULL,
    task_code      TEXT    NOT NULL,
    attempt        INTEGER NOT NULL,
    node           INTEGER NOT NULL,
    execute_time   INTEGER NOT NULL,
    finish_time    INTEGER,
    execute_status INTEGER NOT NULL,
    cost_ms        INTEGER,
    create_time    INTEGER NOT NULL,
    result_ref     INTEGER,
    execute_result TEXT,
    error_message  TEXT,
    PRIMARY KEY (job_id, fence)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_execution_log_by_task ON task_execution_log (task_code, execute_time);

CREATE TABLE attempt_output (
    job_id INTEGER NOT NULL,
    fence  INTEGER NOT NULL,
    seq    INTEGER NOT NULL,
    time   INTEGER NOT NULL,
    stream INTEGER NOT NULL,
    text   TEXT    NOT NULL,
    PRIMARY KEY (job_id, fence, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE attachment (
    id    INTEGER PRIMARY KEY,
    kind  TEXT NOT NULL,
    bytes BLOB NOT NULL
) STRICT;

CREATE TABLE dead_job (
    job_id    INTEGER PRIMARY KEY,
    task_code TEXT    NOT NULL,
    cause     INTEGER NOT NULL,
    time      INTEGER NOT NULL,
    closed_at INTEGER,
    closed_by TEXT
) STRICT;
CREATE INDEX dead_job_open ON dead_job (time, job_id) WHERE closed_at IS NULL;
CREATE INDEX dead_job_open_by_task ON dead_job (task_code, time, job_id) WHERE closed_at IS NULL;

-- The outbox of alerts: written with the outcome that calls for it.
CREATE TABLE alert_event (
    id          INTEGER PRIMARY KEY,
    kind        TEXT    NOT NULL,
    job_id      INTEGER,
    task_code   TEXT    NOT NULL,
    text        TEXT    NOT NULL,
    create_time INTEGER NOT NULL,
    state       INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX alert_event_by_job ON alert_event (job_id) WHERE job_id IS NOT NULL;

CREATE TABLE node (
    incarnation  INTEGER PRIMARY KEY,
    number       INTEGER NOT NULL,
    kind         TEXT    NOT NULL,
    host         TEXT    NOT NULL,
    pid          INTEGER NOT NULL,
    version      TEXT    NOT NULL,
    pools        TEXT    NOT NULL DEFAULT '',
    state        TEXT    NOT NULL,
    heartbeat_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE pool (
    name           TEXT PRIMARY KEY,
    concurrency    INTEGER NOT NULL,
    queue_capacity INTEGER NOT NULL,
    paused         INTEGER NOT NULL,
    when_full      TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit_log (
    id     INTEGER PRIMARY KEY,
    time   INTEGER NOT NULL,
    who    TEXT    NOT NULL,
    what   TEXT    NOT NULL,
    object TEXT    NOT NULL,
    detail TEXT    NOT NULL
) STRICT;
