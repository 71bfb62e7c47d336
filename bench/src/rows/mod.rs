//! What the report shows of each scenario, and the bars that the project has set itself.

mod server;

use crate::args::{Scenario, StoreKind};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bar {
    No,
    AtLeast(f64),
    AtMost(f64),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) scenario: Scenario,
    pub(crate) figure: &'static str,
    pub(crate) label: &'static str,
    pub(crate) library: Bar,
    pub(crate) rest: Bar,
    /// The figure of `limits` that bounds this one.
    pub(crate) raw: Option<&'static str>,
}

/// Made from the figures of two scenarios: the rate of w5 as a share of that of w2.
pub(crate) const W5_TO_W2: &str = "to_w2";

const fn row(scenario: Scenario, figure: &'static str, label: &'static str, library: Bar, rest: Bar) -> Row {
    Row { scenario, figure, label, library, rest, raw: None }
}

const fn bounded(row: Row, raw: &'static str) -> Row {
    Row { raw: Some(raw), ..row }
}

use Bar::{AtLeast, AtMost, No};
use Scenario::{
    Cron, Dormant, Fires, Idle, Instant, Isolation, Lanes, Pages, Spread, Startup, Steady, W1, W1b, W2, W3, W4, W5, W6,
    W7,
};

pub(crate) fn rows(store: StoreKind) -> Vec<Row> {
    if store == StoreKind::Sqlite { ROWS.to_vec() } else { server::rows(store) }
}

/// In the order of the report.
pub(crate) fn limits(store: StoreKind) -> &'static [(&'static str, &'static str)] {
    if store == StoreKind::Sqlite { LIMITS } else { server::LIMITS }
}

const ROWS: &[Row] = &[
    bounded(row(W1, "rate_per_s", "one by one, jobs/s", AtLeast(60_000.0), AtLeast(15_000.0)), "group_commit_per_s"),
    row(W1, "call_p50_ms", "a call, p50 ms", No, No),
    row(W1, "call_p99_ms", "a call, p99 ms", No, No),
    bounded(row(W1b, "rate_per_s", "1,000 a call, jobs/s", AtLeast(100_000.0), AtLeast(70_000.0)), "rows_5000_per_s"),
    bounded(row(W2, "rate_per_s", "drain, jobs/s", AtLeast(40_000.0), No), "complete_500_per_s"),
    row(W2, "cpu_us_per_job", "CPU per job, µs", AtMost(25.0), No),
    row(W2, "left", "left in the queue", AtMost(0.0), No),
    row(W2, "twice", "started twice", AtMost(0.0), No),
    row(W3, "start_p50_ms", "submit to start, p50 ms", AtMost(1.0), AtMost(2.0)),
    row(W3, "start_p99_ms", "submit to start, p99 ms", AtMost(3.0), AtMost(5.0)),
    row(W4, "accept_s", "burst accepted, s", AtMost(0.15), AtMost(0.6)),
    row(W4, "call_mean_ms", "a call, mean ms", AtMost(2.0), No),
    row(W4, "last_start_s", "last start after, s", No, No),
    row(W5, "rate_per_s", "drain with history, jobs/s", No, No),
    row(W5, W5_TO_W2, "share of w2", AtLeast(0.9), No),
    row(W5, "left", "left in the queue", AtMost(0.0), No),
    row(W6, "start_p50_ms", "late, p50 ms", AtMost(1.0), No),
    row(W6, "start_p99_ms", "late, p99 ms", AtMost(3.0), No),
    row(W6, "start_min_ms", "earliest, ms", AtLeast(0.0), No),
    row(W7, "idle_mib", "memory idle, MiB", AtMost(30.0), No),
    row(W7, "peak_mib", "memory with a backlog, MiB", AtMost(120.0), No),
    row(Steady, "start_p50_ms", "wait, p50 ms", No, No),
    row(Steady, "start_p99_ms", "wait, p99 ms", AtMost(5.0), No),
    row(Startup, "first_start_s", "to the first start, s", AtMost(2.0), No),
    row(Pages, "page_p50_ms", "a page, p50 ms", No, No),
    row(Pages, "worst_list_p99_ms", "a page of the slowest list, p99 ms", AtMost(50.0), No),
    row(Idle, "cpu_percent", "CPU idle, % of one core", AtMost(1.0), No),
    row(Fires, "lost", "fire times lost", AtMost(0.0), No),
    row(Fires, "double", "fire times run twice", AtMost(0.0), No),
    row(Fires, "skipped", "fire times skipped", AtMost(0.0), No),
    row(Fires, "late_p50_ms", "late, p50 ms", No, No),
    row(Fires, "late_p99_ms", "late, p99 ms", AtMost(20.0), No),
    row(Fires, "late_max_ms", "late, max ms", No, No),
    row(Fires, "late_min_ms", "earliest, ms", AtLeast(0.0), No),
    row(Fires, "cpu_us_per_fire", "CPU per fire, µs", No, No),
    row(Spread, "lost", "fire times lost", AtMost(0.0), No),
    row(Spread, "double", "fire times run twice", AtMost(0.0), No),
    row(Spread, "skipped", "fire times skipped", AtMost(0.0), No),
    row(Spread, "late_p50_ms", "late, p50 ms", No, No),
    row(Spread, "late_p99_ms", "late, p99 ms", AtMost(20.0), No),
    row(Spread, "late_max_ms", "late, max ms", No, No),
    row(Spread, "late_min_ms", "earliest, ms", AtLeast(0.0), No),
    row(Spread, "cpu_us_per_fire", "CPU per fire, µs", No, No),
    row(Instant, "durable_s", "all stored after, s", AtMost(1.0), No),
    row(Instant, "to_raw", "that, in bare inserts of as many rows", No, No),
    row(Instant, "last_start_s", "last start after, s", AtMost(2.0), No),
    row(Instant, "late_min_ms", "earliest, ms", AtLeast(0.0), No),
    row(Instant, "lost", "fire times lost", AtMost(0.0), No),
    row(Instant, "double", "fire times run twice", AtMost(0.0), No),
    row(Isolation, "alone_p50_ms", "alone, late p50 ms", No, No),
    row(Isolation, "alone_p99_ms", "alone, late p99 ms", No, No),
    row(Isolation, "flood_p50_ms", "beside a flood, late p50 ms", No, No),
    row(Isolation, "flood_p99_ms", "beside a flood, late p99 ms", No, No),
    row(Isolation, "more_p50_ms", "difference of p50, ms", AtMost(5.0), No),
    row(Isolation, "more_p99_ms", "difference of p99, ms", AtMost(5.0), No),
    row(Isolation, "flood_per_s", "flood, jobs/s", No, No),
    row(Isolation, "lost", "fire times lost", AtMost(0.0), No),
    row(Isolation, "double", "fire times run twice", AtMost(0.0), No),
    row(Dormant, "cpu_percent", "CPU idle, % of one core", AtMost(1.0), No),
    row(Dormant, "rss_mib", "memory, MiB", No, No),
    row(Dormant, "kib_per_task", "memory per task, KiB", No, No),
    row(Dormant, "open_s", "to open, s", AtMost(2.0), No),
    row(Lanes, "plain_per_s", "without limits, jobs/s", No, No),
    row(Lanes, "keyed_per_s", "one at a time for each of 1,000 keys, jobs/s", No, No),
    row(Lanes, "keyed_share", "that, as a share", No, No),
    row(Lanes, "rated_per_s", "a rate for each of 1,000 keys, jobs/s", No, No),
    row(Lanes, "rated_share", "that, as a share", No, No),
    row(Lanes, "rate_used", "share of a rate that is used", No, No),
    row(Lanes, "beside_per_s", "beside a full lane, jobs/s", No, No),
    row(Lanes, "beside_share", "that, as a share", AtLeast(0.9), No),
    row(Lanes, "aside_s", "until a full lane is out of the way, s", No, No),
    row(Cron, "minute_utc_ns", "next, every minute, UTC, ns", AtMost(500.0), No),
    row(Cron, "minute_utc_croner", "  croner takes so many times as long", No, No),
    row(Cron, "daily_utc_ns", "next, daily, UTC, ns", AtMost(500.0), No),
    row(Cron, "daily_utc_croner", "  croner takes so many times as long", No, No),
    row(Cron, "leap_utc_ns", "next, 29 February on a Sunday, UTC, ns", AtMost(500.0), No),
    row(Cron, "leap_utc_croner", "  croner takes so many times as long", No, No),
    row(Cron, "special_utc_ns", "next, last working day, UTC, ns", AtMost(500.0), No),
    row(Cron, "special_utc_croner", "  croner takes so many times as long", No, No),
    row(Cron, "quartz_utc_ns", "next, 7 fields, UTC, ns", AtMost(500.0), No),
    row(Cron, "quartz_utc_croner", "  croner takes so many times as long", No, No),
    row(Cron, "minute_new_york_ns", "next, every minute, New York, ns", AtMost(1_000.0), No),
    row(Cron, "minute_new_york_croner", "  croner takes so many times as long", No, No),
    row(Cron, "daily_new_york_ns", "next, daily, New York, ns", AtMost(1_000.0), No),
    row(Cron, "daily_new_york_croner", "  croner takes so many times as long", No, No),
    row(Cron, "leap_new_york_ns", "next, 29 February on a Sunday, New York, ns", AtMost(1_000.0), No),
    row(Cron, "leap_new_york_croner", "  croner takes so many times as long", No, No),
    row(Cron, "special_new_york_ns", "next, last working day, New York, ns", AtMost(1_000.0), No),
    row(Cron, "special_new_york_croner", "  croner takes so many times as long", No, No),
    row(Cron, "quartz_new_york_ns", "next, 7 fields, New York, ns", AtMost(1_000.0), No),
    row(Cron, "quartz_new_york_croner", "  croner takes so many times as long", No, No),
    row(Cron, "impossible_us", "slowest impossible date, µs", AtMost(1_000.0), No),
    row(Cron, "text_us", "slowest text to read and search, µs", AtMost(1_000.0), No),
    row(Cron, "read_ns", "a usual text, read, ns", No, No),
];

const LIMITS: &[(&str, &str)] = &[
    ("fdatasync_p50_ms", "fdatasync, p50 ms"),
    ("fdatasync_p99_ms", "fdatasync, p99 ms"),
    ("group_commit_per_s", "SQLite, one writer, 64 submitters, commits as they gather, acks/s"),
    ("rows_5000_per_s", "SQLite, 5,000 rows a commit, rows/s"),
    ("complete_500_per_s", "SQLite, fenced update, 500 a commit, rows/s"),
];
