-- Schedules: fire times, lanes and limits, calendars, request ids.

ALTER TABLE task_info ADD COLUMN every_ms INTEGER;
ALTER TABLE task_info ADD COLUMN every_rhythm TEXT;
ALTER TABLE task_info ADD COLUMN start_at INTEGER;
ALTER TABLE task_info ADD COLUMN end_at INTEGER;
ALTER TABLE task_info ADD COLUMN calendar TEXT;
ALTER TABLE task_info ADD COLUMN concurrency_key TEXT;
ALTER TABLE task_info ADD COLUMN rate_limit TEXT;
ALTER TABLE task_info ADD COLUMN start_deadline_seconds INTEGER;
ALTER TABLE task_info ADD COLUMN disabled_reason TEXT;

-- The fire times that a job stands for: from fire_first to fire_time, fire_count of them.
ALTER TABLE async_task ADD COLUMN fire_first INTEGER;
ALTER TABLE async_task ADD COLUMN fire_count INTEGER;
ALTER TABLE async_task ADD COLUMN skip_reason INTEGER;
ALTER TABLE async_task ADD COLUMN concurrency_key TEXT;

-- 0: in no lane. 1: in the lane of its task and key. 2: besides, one of those that run one after another.
ALTER TABLE job_queue ADD COLUMN lane INTEGER NOT NULL DEFAULT 0;
-- Partial: the jobs of tasks without limits never touch it. The key of a job in a lane is '' when it has none. With id
-- and lane it answers alone: counts of a lane look at no row. A second index, of those that run one after another, would
-- cost every job of every task the look whether it belongs there.
CREATE INDEX job_queue_lane ON job_queue (task_code, concurrency_key, state, priority, due, job_id, lane) WHERE lane > 0;
-- Live jobs of tasks whose limits were defined, and not kept, before.
UPDATE job_queue SET lane = 1, concurrency_key = ''
WHERE task_code IN (SELECT task_code FROM task_info WHERE overlap <> 'ALLOW' OR max_running IS NOT NULL);

-- The last starts under a rate limit, as rings: at most as many rows as the limit's count, per task (or pool) and key.
CREATE TABLE rate_start (
    scope TEXT    NOT NULL,
    key   TEXT    NOT NULL,
    slot  INTEGER NOT NULL,
    time  INTEGER NOT NULL,
    PRIMARY KEY (scope, key, slot)
) STRICT, WITHOUT ROWID;

-- One row per ring: where it stands, and when the jobs that wait for it may go on.
CREATE TABLE rate_ring (
    scope   TEXT    NOT NULL,
    key     TEXT    NOT NULL,
    next    INTEGER NOT NULL,
    open_at INTEGER,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX rate_ring_open ON rate_ring (open_at) WHERE open_at IS NOT NULL;

ALTER TABLE pool ADD COLUMN rate_limit TEXT;

CREATE TABLE calendar (
    name        TEXT PRIMARY KEY,
    description TEXT,
    excluded    TEXT NOT NULL,
    working     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What programs and files have ever declared: a declaration is written over a task once.
CREATE TABLE task_declaration (
    task_code   TEXT    NOT NULL,
    fingerprint TEXT    NOT NULL,
    time        INTEGER NOT NULL,
    PRIMARY KEY (task_code, fingerprint)
) STRICT, WITHOUT ROWID;

CREATE TABLE request (
    request_id TEXT PRIMARY KEY,
    operation  TEXT    NOT NULL,
    answer     TEXT,
    time       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX request_by_time ON request (time);
