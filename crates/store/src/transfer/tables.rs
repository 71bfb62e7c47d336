//! What is moved: every table that holds state, and its columns. A test compares it with the schemas of all three databases.
//!
//! Not in it: what a database says of itself (`store_meta`, `schema_migration`, `cluster`), and what a server works out from
//! others: columns, and `task_pin`.

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// So many of the first columns are its primary key, by which rows are ordered.
    pub(crate) key: usize,
    pub(crate) columns: &'static [Column],
    /// Its ids are given by the database.
    pub(crate) gives_ids: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    /// In the embedded database.
    pub(crate) from: &'static str,
    /// On a server.
    pub(crate) to: &'static str,
    pub(crate) holds: Holds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    Number,
    /// Names, keys, payloads: another text would be another thing.
    Exact,
    /// Text for people, often what a program printed. Where a server cannot keep a NUL, a sign for a lost character stands
    /// for it, as in all that its own nodes write.
    Words,
    Bytes,
}

const fn column(name: &'static str, holds: Holds) -> Column {
    Column { from: name, to: name, holds }
}

const fn n(name: &'static str) -> Column {
    column(name, Holds::Number)
}

const fn exact(name: &'static str) -> Column {
    column(name, Holds::Exact)
}

const fn words(name: &'static str) -> Column {
    column(name, Holds::Words)
}

/// Otherwise a word of SQL's own.
const RATE_KEY: Column = Column { from: "key", to: "rate_key", holds: Holds::Exact };

const fn table(name: &'static str, key: usize, columns: &'static [Column]) -> Table {
    Table { name, key, columns, gives_ids: false }
}

const fn giving_ids(table: Table) -> Table {
    Table { gives_ids: true, ..table }
}

pub(crate) static TABLES: [Table; 17] = [
    table("pool", 1, POOL),
    table("calendar", 1, CALENDAR),
    giving_ids(table("task_info", 1, TASK)),
    table("task_declaration", 2, &[exact("task_code"), exact("fingerprint"), n("time")]),
    giving_ids(table("attachment", 1, &[n("id"), exact("kind"), column("bytes", Holds::Bytes)])),
    table("async_task", 1, JOB),
    table("job_key", 2, &[exact("biz_id"), exact("task_code"), n("job_id"), n("while_live")]),
    table("job_queue", 1, QUEUE),
    table("task_execution_log", 2, ATTEMPT),
    table("attempt_output", 3, &[n("job_id"), n("fence"), n("seq"), n("time"), n("stream"), words("text")]),
    table("dead_job", 1, DEAD),
    giving_ids(table("alert_event", 1, ALERT)),
    table("rate_ring", 2, &[exact("scope"), RATE_KEY, n("next"), n("open_at")]),
    table("rate_start", 3, &[exact("scope"), RATE_KEY, n("slot"), n("time")]),
    giving_ids(table("audit_log", 1, AUDIT)),
    table("request", 1, &[exact("request_id"), exact("operation"), exact("answer"), n("time")]),
    table("node", 1, NODE),
];

const POOL: &[Column] = &[
    exact("name"),
    n("concurrency"),
    n("cluster_concurrency"),
    n("queue_capacity"),
    n("paused"),
    exact("when_full"),
    exact("rate_limit"),
];

const CALENDAR: &[Column] = &[exact("name"), words("description"), exact("excluded"), exact("working")];

const TASK: &[Column] = &[
    n("id"),
    exact("task_code"),
    words("task_name"),
    exact("task_type"),
    exact("task_handler"),
    exact("cron_expression"),
    exact("time_zone"),
    n("every_ms"),
    exact("every_rhythm"),
    n("start_at"),
    n("end_at"),
    exact("calendar"),
    exact("task_status"),
    exact("execute_param"),
    n("timeout_seconds"),
    exact("fail_strategy"),
    n("retry_count"),
    n("retry_base_ms"),
    n("retry_cap_ms"),
    exact("pool"),
    n("priority"),
    exact("overlap"),
    n("max_running"),
    exact("concurrency_key"),
    exact("rate_limit"),
    exact("misfire"),
    n("misfire_grace_seconds"),
    n("max_catchup"),
    n("start_deadline_seconds"),
    exact("on_lost"),
    exact("node_labels"),
    n("broadcast"),
    n("next_fire_time"),
    n("prev_fire_time"),
    words("disabled_reason"),
    words("owner"),
    exact("tags"),
    words("description"),
    n("version"),
    n("create_time"),
    n("update_time"),
];

const JOB: &[Column] = &[
    n("id"),
    exact("task_code"),
    n("task_status"),
    exact("pool"),
    n("trigger_type"),
    n("priority"),
    n("unique_mode"),
    exact("biz_id"),
    n("retry_count"),
    n("max_retry"),
    n("lost_count"),
    n("attempts"),
    n("duplicates"),
    n("last_duplicate"),
    n("fence"),
    n("execute_time"),
    n("next_retry_time"),
    n("start_time"),
    n("finish_time"),
    n("timeout_ms"),
    n("fire_time"),
    n("fire_first"),
    n("fire_count"),
    n("skip_reason"),
    exact("concurrency_key"),
    n("shard_index"),
    n("shard_total"),
    n("workflow_run_id"),
    exact("step"),
    n("payload_ref"),
    n("result_ref"),
    n("create_time"),
    n("update_time"),
    words("result_summary"),
    words("error_msg"),
    exact("payload"),
];

const QUEUE: &[Column] = &[
    n("job_id"),
    exact("task_code"),
    exact("pool"),
    n("priority"),
    n("due"),
    n("fence"),
    n("owner"),
    n("state"),
    n("suspect"),
    n("lane"),
    exact("concurrency_key"),
];

const ATTEMPT: &[Column] = &[
    n("job_id"),
    n("fence"),
    exact("task_code"),
    n("attempt"),
    n("node"),
    n("execute_time"),
    n("finish_time"),
    n("execute_status"),
    n("cost_ms"),
    n("create_time"),
    n("result_ref"),
    words("execute_result"),
    words("error_message"),
];

const DEAD: &[Column] = &[n("job_id"), exact("task_code"), n("cause"), n("time"), n("closed_at"), words("closed_by")];

const ALERT: &[Column] =
    &[n("id"), exact("kind"), n("job_id"), exact("task_code"), words("text"), n("create_time"), n("state")];

const AUDIT: &[Column] = &[n("id"), n("time"), words("who"), words("what"), words("object"), words("detail")];

const NODE: &[Column] = &[
    n("incarnation"),
    n("number"),
    exact("kind"),
    words("host"),
    n("pid"),
    exact("version"),
    exact("pools"),
    exact("labels"),
    exact("handlers"),
    exact("state"),
    n("heartbeat_at"),
    n("expires_at"),
];
