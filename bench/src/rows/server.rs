//! What the report shows of the database servers.

use super::{Bar, Row, W5_TO_W2};
use crate::args::{Scenario, StoreKind};

use Bar::{AtLeast, AtMost, No};
use Scenario::{Cluster, History, Idle, Pages, Startup, Steady, W1, W1b, W2, W3, W4, W5, W6, W7};

struct OfServers {
    scenario: Scenario,
    figure: &'static str,
    label: &'static str,
    postgres: Bar,
    mariadb: Bar,
    raw: Option<&'static str>,
}

const fn row(scenario: Scenario, figure: &'static str, label: &'static str, postgres: Bar, mariadb: Bar) -> OfServers {
    OfServers { scenario, figure, label, postgres, mariadb, raw: None }
}

const fn bounded(row: OfServers, raw: &'static str) -> OfServers {
    OfServers { raw: Some(raw), ..row }
}

const fn shown(scenario: Scenario, figure: &'static str, label: &'static str) -> OfServers {
    row(scenario, figure, label, No, No)
}

const COMMITS: (&str, &str) = ("commits_per_job", "commits per job");
const LOG: (&str, &str) = ("log_bytes_per_job", "log of the database, bytes per job");
const ROWS: (&str, &str) = ("rows_per_job", "rows inserted, updated, deleted per job");
const STATEMENTS: (&str, &str) = ("statements_per_job", "statements per job");
const CPU: (&str, &str) = ("cpu_us_per_job", "CPU per job, all processes, µs");
const SERVER_CPU: (&str, &str) = ("server_cpu_us_per_job", "of it the database, µs");

const fn per_job(scenario: Scenario, (figure, label): (&'static str, &'static str)) -> OfServers {
    shown(scenario, figure, label)
}

const OF_SERVERS: &[OfServers] = &[
    bounded(row(W1, "rate_per_s", "one by one, jobs/s", AtLeast(20_000.0), AtLeast(10_000.0)), "insert_64_per_s"),
    shown(W1, "call_p50_ms", "a call, p50 ms"),
    shown(W1, "call_p99_ms", "a call, p99 ms"),
    per_job(W1, CPU),
    per_job(W1, SERVER_CPU),
    per_job(W1, COMMITS),
    per_job(W1, LOG),
    per_job(W1, ROWS),
    per_job(W1, STATEMENTS),
    bounded(row(W1b, "rate_per_s", "1,000 a call, jobs/s", AtLeast(50_000.0), AtLeast(30_000.0)), "insert_500_per_s"),
    per_job(W1b, CPU),
    per_job(W1b, SERVER_CPU),
    per_job(W1b, LOG),
    per_job(W1b, ROWS),
    bounded(row(W2, "rate_per_s", "drain, jobs/s", AtLeast(25_000.0), AtLeast(12_000.0)), "complete_500_per_s"),
    row(W2, "cpu_us_per_job", "CPU per job, all processes, µs", AtMost(60.0), AtMost(90.0)),
    per_job(W2, SERVER_CPU),
    per_job(W2, COMMITS),
    per_job(W2, LOG),
    per_job(W2, ROWS),
    per_job(W2, STATEMENTS),
    row(W2, "left", "left in the queue", AtMost(0.0), AtMost(0.0)),
    row(W2, "twice", "started twice", AtMost(0.0), AtMost(0.0)),
    row(W3, "start_p50_ms", "submit to start, p50 ms", AtMost(2.0), AtMost(3.0)),
    row(W3, "start_p99_ms", "submit to start, p99 ms", AtMost(6.0), AtMost(10.0)),
    per_job(W3, COMMITS),
    per_job(W3, STATEMENTS),
    row(W4, "accept_s", "burst accepted, s", AtMost(0.4), AtMost(0.8)),
    shown(W4, "call_mean_ms", "a call, mean ms"),
    shown(W4, "last_start_s", "last start after, s"),
    shown(W5, "rate_per_s", "drain with history, jobs/s"),
    row(W5, W5_TO_W2, "share of w2", AtLeast(0.9), AtLeast(0.85)),
    row(W5, "left", "left in the queue", AtMost(0.0), AtMost(0.0)),
    row(W6, "start_p50_ms", "late, p50 ms", AtMost(2.0), AtMost(3.0)),
    row(W6, "start_p99_ms", "late, p99 ms", AtMost(6.0), AtMost(10.0)),
    row(W6, "start_min_ms", "earliest, ms", AtLeast(0.0), AtLeast(0.0)),
    row(W7, "idle_mib", "memory idle, MiB", AtMost(30.0), AtMost(30.0)),
    row(W7, "peak_mib", "memory with a backlog, MiB", AtMost(120.0), AtMost(120.0)),
    shown(Steady, "start_p50_ms", "wait, p50 ms"),
    row(Steady, "start_p99_ms", "wait, p99 ms", AtMost(5.0), AtMost(5.0)),
    row(Startup, "first_start_s", "to the first start, s", AtMost(2.0), AtMost(2.0)),
    shown(Pages, "page_p50_ms", "a page, p50 ms"),
    row(Pages, "worst_list_p99_ms", "a page of the slowest list, p99 ms", AtMost(50.0), AtMost(50.0)),
    row(Idle, "cpu_percent", "CPU idle, all processes, % of one core", AtMost(1.0), AtMost(1.0)),
    shown(Cluster, "nodes_1_per_s", "one node, jobs/s"),
    shown(Cluster, "nodes_2_per_s", "two nodes, jobs/s"),
    shown(Cluster, "nodes_4_per_s", "four nodes, jobs/s"),
    shown(Cluster, "nodes_1_cpu_us_per_job", "one node, CPU per job, all processes, µs"),
    shown(Cluster, "nodes_2_cpu_us_per_job", "two nodes, CPU per job, all processes, µs"),
    shown(Cluster, "nodes_4_cpu_us_per_job", "four nodes, CPU per job, all processes, µs"),
    row(Cluster, "twice", "started twice", AtMost(0.0), AtMost(0.0)),
    row(Cluster, "left", "left in the queue", AtMost(0.0), AtMost(0.0)),
    shown(History, "filled_s", "finished jobs written directly in, s"),
    shown(History, "database_mib", "the database then, MiB"),
    shown(History, "rate_per_s", "drain with history, jobs/s"),
    row(History, W5_TO_W2, "share of w2", AtLeast(0.9), AtLeast(0.85)),
    row(History, "left", "left in the queue", AtMost(0.0), AtMost(0.0)),
    shown(History, "page_p50_ms", "a page, p50 ms"),
    row(History, "worst_list_p99_ms", "a page of the slowest list, p99 ms", AtMost(50.0), AtMost(50.0)),
];

pub(super) fn rows(store: StoreKind) -> Vec<Row> {
    let bar = |row: &OfServers| if store == StoreKind::Postgres { row.postgres } else { row.mariadb };
    let shown = |row: &OfServers| Row {
        scenario: row.scenario,
        figure: row.figure,
        label: row.label,
        library: bar(row),
        rest: No,
        raw: row.raw,
    };
    OF_SERVERS.iter().map(shown).collect()
}

pub(super) const LIMITS: &[(&str, &str)] = &[
    ("fdatasync_p50_ms", "fdatasync, p50 ms"),
    ("fdatasync_p99_ms", "fdatasync, p99 ms"),
    ("insert_64_per_s", "single-row inserts, each committed, from 64 clients, rows/s"),
    ("insert_500_per_s", "500 rows a commit, one client, rows/s"),
    ("claim_500_per_s", "claim with SKIP LOCKED, 500 a commit, one client, rows/s"),
    ("complete_500_per_s", "fenced update, 500 a commit, one client, rows/s"),
];
