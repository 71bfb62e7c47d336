-- The first schema of the server store. Times are epoch milliseconds, UTC; codes are those of the model's closed sets.
-- All numbers are BIGINT, so that a column is read in one way only. `$collation` is the one of the server that compares
-- byte by byte and pads nothing. Each statement can be repeated: there is no transaction around them.

CREATE TABLE IF NOT EXISTS store_meta (
    name  VARCHAR(100) PRIMARY KEY,
    value LONGTEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;

-- One row. Nodes look at it with each heartbeat: a number that has grown says what to read again.
CREATE TABLE IF NOT EXISTS cluster (
    id           BIGINT PRIMARY KEY CHECK (id = 1),
    cluster_name VARCHAR(100) NOT NULL,
    -- Changes of tasks, pools and calendars.
    definitions  BIGINT NOT NULL,
    -- A number that was drawn when commits were lost, the heartbeats in it, and a fence that none of before it reached.
    history      BIGINT NOT NULL,
    beats        BIGINT NOT NULL,
    fence_floor  BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;
INSERT IGNORE INTO cluster (id, cluster_name, definitions, history, beats, fence_floor) VALUES (1, '', 0, 0, 0, 0);

CREATE TABLE IF NOT EXISTS task_info (
    id                     BIGINT AUTO_INCREMENT PRIMARY KEY,
    task_code              VARCHAR(100) NOT NULL UNIQUE,
    task_name              LONGTEXT NOT NULL,
    task_type              VARCHAR(100) NOT NULL,
    task_handler           LONGTEXT NOT NULL,
    cron_expression        LONGTEXT,
    time_zone              LONGTEXT,
    every_ms               BIGINT,
    every_rhythm           VARCHAR(100),
    start_at               BIGINT,
    end_at                 BIGINT,
    calendar               LONGTEXT,
    task_status            VARCHAR(100) NOT NULL,
    execute_param          LONGTEXT,
    timeout_seconds        BIGINT NOT NULL,
    fail_strategy          VARCHAR(100) NOT NULL,
    retry_count            BIGINT NOT NULL,
    retry_base_ms          BIGINT NOT NULL,
    retry_cap_ms           BIGINT NOT NULL,
    pool                   VARCHAR(100) NOT NULL,
    priority               BIGINT NOT NULL,
    overlap                VARCHAR(100) NOT NULL,
    max_running            BIGINT,
    concurrency_key        LONGTEXT,
    rate_limit             VARCHAR(100),
    misfire                VARCHAR(100) NOT NULL,
    misfire_grace_seconds  BIGINT NOT NULL,
    max_catchup            BIGINT NOT NULL,
    start_deadline_seconds BIGINT,
    on_lost                VARCHAR(100) NOT NULL,
    -- A JSON array: on which nodes it may run.
    node_labels            LONGTEXT NOT NULL DEFAULT ('[]'),
    broadcast              BIGINT NOT NULL DEFAULT 0,
    next_fire_time         BIGINT,
    prev_fire_time         BIGINT,
    disabled_reason        LONGTEXT,
    owner                  LONGTEXT,
    tags                   LONGTEXT NOT NULL,
    description            LONGTEXT,
    version                BIGINT NOT NULL,
    create_time            BIGINT NOT NULL,
    update_time            BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;

-- The record of a job, for life. Ids grow with time, so a range of ids is a range of time.
CREATE TABLE IF NOT EXISTS async_task (
    id              BIGINT NOT NULL,
    task_code       VARCHAR(100) NOT NULL,
    task_status     BIGINT NOT NULL,
    pool            VARCHAR(60) NOT NULL,
    trigger_type    BIGINT NOT NULL,
    priority        BIGINT NOT NULL,
    unique_mode     BIGINT NOT NULL,
    biz_id          VARCHAR(255),
    retry_count     BIGINT NOT NULL DEFAULT 0,
    max_retry       BIGINT NOT NULL,
    lost_count      BIGINT NOT NULL DEFAULT 0,
    attempts        BIGINT NOT NULL DEFAULT 0,
    duplicates      BIGINT NOT NULL DEFAULT 0,
    last_duplicate  BIGINT,
    fence           BIGINT NOT NULL,
    execute_time    BIGINT NOT NULL,
    next_retry_time BIGINT,
    start_time      BIGINT,
    finish_time     BIGINT,
    timeout_ms      BIGINT,
    fire_time       BIGINT,
    fire_first      BIGINT,
    fire_count      BIGINT,
    skip_reason     BIGINT,
    concurrency_key VARCHAR(255),
    shard_index     BIGINT,
    shard_total     BIGINT,
    workflow_run_id BIGINT,
    step            LONGTEXT,
    payload_ref     BIGINT,
    result_ref      BIGINT,
    create_time     BIGINT NOT NULL,
    update_time     BIGINT NOT NULL,
    result_summary  LONGTEXT,
    error_msg       LONGTEXT,
    payload         LONGTEXT,
    -- Ended otherwise than by success. The indexes look at it and not at task_status: it stays NULL through the life of
    -- a job that succeeds, so that no change of such a job's record touches an index.
    closed_status   BIGINT GENERATED ALWAYS AS (CASE WHEN task_status > 2 AND task_status <> 6 THEN task_status END) STORED,
    PRIMARY KEY (id),
    INDEX async_task_by_task (task_code, id),
    INDEX async_task_by_key (biz_id, id),
    INDEX async_task_by_status (closed_status, id),
    INDEX async_task_by_status_task (closed_status, task_code, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;

CREATE TABLE IF NOT EXISTS job_key (
    biz_id     VARCHAR(255) NOT NULL,
    task_code  VARCHAR(100) NOT NULL,
    job_id     BIGINT NOT NULL,
    while_live BIGINT NOT NULL,
    PRIMARY KEY (biz_id, task_code)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;

-- A row exists only while the job is not final: the table stays small and hot whatever the history weighs. There are no partial
-- indexes here, so each row is in all of them.
CREATE TABLE IF NOT EXISTS job_queue (
    job_id          BIGINT PRIMARY KEY,
    task_code       VARCHAR(100) NOT NULL,
    pool            VARCHAR(60) NOT NULL,
    priority        BIGINT NOT NULL,
    due             BIGINT NOT NULL,
    fence           BIGINT NOT NULL,
    owner           BIGINT,
    state           BIGINT NOT NULL,
    suspect         BIGINT NOT NULL DEFAULT 0,
    -- 0: in no lane. 1: in the lane of its task and key. 2: besides, one of those that run one after another.
    lane            BIGINT NOT NULL DEFAULT 0,
    concurrency_key VARCHAR(255),
    INDEX job_queue_due (state, pool, priority, due, job_id),
    -- For take-over, and for a node that asks what it holds.
    INDEX job_queue_owner (owner),
    -- With id and lane it answers alone: counts of a lane look at no row. The key of a job in a lane is '' when it has none.
    INDEX job_queue_lane (task_code, concurrency_key, state, priority, due, job_id, lane)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;

CREATE TABLE IF NOT EXISTS task_execution_log (
    job_id         BIGINT NOT NULL,
    fence          BIGINT NOT NULL,
    task_code      VARCHAR(100) NOT NULL,
    attempt        BIGINT NOT NULL,
    node           BIGINT NOT NULL,
    execute_time   BIGINT NOT NULL,
    finish_time    BIGINT,
    execute_status BIGINT NOT NULL,
    cost_ms        BIGINT,
    create_time    BIGINT NOT NULL,
    result_ref     BIGINT,
    execute_result LONGTEXT,
    error_message  LONGTEXT,
    PRIMARY KEY (job_id, fence),
    INDEX task_execution_log_by_task (task_code, execute_time, job_id, fence)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;

CREATE TABLE IF NOT EXISTS attempt_output (
    job_id BIGINT NOT NULL,
    fence  BIGINT NOT NULL,
    seq    BIGINT NOT NULL,
    time   BIGINT NOT NULL,
    stream BIGINT NOT NULL,
    text   LONGTEXT NOT NULL,
    PRIMARY KEY (job_id, fence, seq)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;

CREATE TABLE IF NOT EXISTS attachment (
    id    BIGINT AUTO_INCREMENT PRIMARY KEY,
    kind  VARCHAR(100) NOT NULL,
    bytes LONGBLOB NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;

CREATE TABLE IF NOT EXISTS dead_job (
    job_id    BIGINT PRIMARY KEY,
    task_code VARCHAR(100) NOT NULL,
    cause     BIGINT NOT NULL,
    time      BIGINT NOT NULL,
    closed_at BIGINT,
    closed_by LONGTEXT,
    INDEX dead_job_open (closed_at, time, job_id),
    INDEX dead_job_open_by_task (task_code, closed_at, time, job_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;

-- The outbox of alerts: written with the outcome that calls for it.
CREATE TABLE IF NOT EXISTS alert_event (
    id          BIGINT AUTO_INCREMENT PRIMARY KEY,
    kind        VARCHAR(100) NOT NULL,
    job_id      BIGINT,
    task_code   VARCHAR(100) NOT NULL,
    text        LONGTEXT NOT NULL,
    create_time BIGINT NOT NULL,
    state       BIGINT NOT NULL DEFAULT 0,
    INDEX alert_event_by_job (job_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;

-- State: ACTIVE, DRAINING or GONE.
CREATE TABLE IF NOT EXISTS node (
    incarnation  BIGINT PRIMARY KEY,
    number       BIGINT NOT NULL,
    kind         VARCHAR(100) NOT NULL,
    host         LONGTEXT NOT NULL,
    pid          BIGINT NOT NULL,
    version      LONGTEXT NOT NULL,
    pools        LONGTEXT NOT NULL DEFAULT (''),
    -- JSON arrays: what it is good for, and what it can run.
    labels       LONGTEXT NOT NULL DEFAULT ('[]'),
    handlers     LONGTEXT NOT NULL DEFAULT ('[]'),
    state        VARCHAR(100) NOT NULL,
    heartbeat_at BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;

CREATE TABLE IF NOT EXISTS pool (
    name                VARCHAR(100) PRIMARY KEY,
    concurrency         BIGINT NOT NULL,
    cluster_concurrency BIGINT,
    queue_capacity      BIGINT NOT NULL,
    paused              BIGINT NOT NULL,
    when_full           VARCHAR(100) NOT NULL,
    rate_limit          VARCHAR(100)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;

CREATE TABLE IF NOT EXISTS audit_log (
    id     BIGINT AUTO_INCREMENT PRIMARY KEY,
    time   BIGINT NOT NULL,
    who    LONGTEXT NOT NULL,
    what   LONGTEXT NOT NULL,
    object LONGTEXT NOT NULL,
    detail LONGTEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;

-- The last starts under a rate limit, as rings: at most as many rows as the limit's count, per task (or pool) and key.
CREATE TABLE IF NOT EXISTS rate_start (
    scope    VARCHAR(120) NOT NULL,
    rate_key VARCHAR(255) NOT NULL,
    slot     BIGINT NOT NULL,
    time     BIGINT NOT NULL,
    PRIMARY KEY (scope, rate_key, slot)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;

-- One row per ring: where it stands, and when the jobs that wait for it may go on.
CREATE TABLE IF NOT EXISTS rate_ring (
    scope    VARCHAR(120) NOT NULL,
    rate_key VARCHAR(255) NOT NULL,
    next     BIGINT NOT NULL,
    open_at  BIGINT,
    PRIMARY KEY (scope, rate_key),
    INDEX rate_ring_open (open_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;

CREATE TABLE IF NOT EXISTS calendar (
    name        VARCHAR(100) PRIMARY KEY,
    description LONGTEXT,
    excluded    LONGTEXT NOT NULL,
    working     LONGTEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;

-- What programs and files have ever declared: a declaration is written over a task once.
CREATE TABLE IF NOT EXISTS task_declaration (
    task_code   VARCHAR(100) NOT NULL,
    fingerprint VARCHAR(100) NOT NULL,
    time        BIGINT NOT NULL,
    PRIMARY KEY (task_code, fingerprint)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;

CREATE TABLE IF NOT EXISTS request (
    request_id VARCHAR(100) PRIMARY KEY,
    operation  LONGTEXT NOT NULL,
    answer     LONGTEXT,
    time       BIGINT NOT NULL,
    INDEX request_by_time (time)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE $collation;
