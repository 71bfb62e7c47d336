//! Each hot statement uses the index that its file names, without sorting and without scanning.

use std::collections::BTreeSet;

use rusqlite::Connection;

use crate::sqlite::{open, sql};

/// Statements that run rarely and say in their second line what they scan.
const SCANS: &[&str] = &[
    "node_expire",
    "node_numbers",
    "queue_held_in_pool",
    "calendars",
    "calendar_users",
    "lane_enter",
    "live_jobs",
    "node_others_gone",
    "nodes",
    "pools",
    "queue_held",
    "queue_orphan_lanes",
    "queue_own_lanes",
    "queue_release_orphans",
    "queue_release_own",
    "queue_set_apart",
    "queue_started_orphans",
    "task_live",
    "task_live_ids",
    "tasks",
];

fn database() -> Connection {
    let conn = open::open_in_memory(mainspring_model::Timestamp::from_ms(0)).expect("opens");
    // Statistics that lie: a plan must not hang on them.
    conn.execute_batch(
        "ANALYZE;
         INSERT INTO sqlite_stat1 VALUES ('job_queue', 'job_queue_due', '1000000 1000000 500000 2');
         INSERT INTO sqlite_stat1 VALUES ('job_queue', 'job_queue_lane', '1000000 1000000 1000000 9 3 2 1 1');
         INSERT INTO sqlite_stat1 VALUES ('async_task', 'async_task_by_task', '10 5 1');
         ANALYZE sqlite_schema;",
    )
    .expect("statistics");
    conn
}

fn plan(conn: &Connection, statement: &str) -> String {
    let mut explain = conn.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).expect(statement);
    let mut rows = explain.raw_query();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().expect("plans") {
        lines.push(row.get::<_, String>(3).expect("text"));
    }
    lines.join("\n")
}

#[test]
fn no_hot_statement_scans_or_sorts() {
    let (conn, mut bad) = (database(), Vec::new());
    for (name, statement) in sql::ALL {
        let plan = plan(&conn, statement);
        if SCANS.contains(name) || name.starts_with("verify_") {
            continue;
        }
        let of_table = |line: &str| !line.contains("SCAN (subquery") && !line.starts_with("SCAN json_each");
        let scans = plan.lines().any(|line| line.starts_with("SCAN ") && of_table(line));
        let sorts = plan.contains("TEMP B-TREE");
        if scans || sorts {
            bad.push(format!("{name}:\n{plan}"));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn hot_statements_use_the_index_they_name() {
    let conn = database();
    let check = |statement: &str, expect: &str| {
        let plan = plan(&conn, statement);
        assert!(plan.contains(expect), "expected `{expect}` in\n{plan}\nof\n{statement}");
    };
    check(sql::QUEUE_DUE, "USING INDEX job_queue_due (pool=? AND priority=? AND due<?)");
    check(sql::QUEUE_NEXT_DUE, "job_queue_due (pool=? AND priority=?)");
    check(sql::QUEUE_NEXT_POOL, "job_queue_due (pool>?)");
    check(sql::QUEUE_COUNT, "job_queue_due (pool=?)");
    check(sql::QUEUE_UNPARK, "job_queue_state (state=?)");
    for by_id in [sql::QUEUE_CLAIM, sql::QUEUE_START, sql::QUEUE_END, sql::QUEUE_AGAIN, sql::QUEUE_GIVE_BACK] {
        check(by_id, "job_queue USING INTEGER PRIMARY KEY (rowid=?)");
    }
    for by_id in [sql::JOB_SETTLE, sql::JOB_START, sql::JOB_FIRST, sql::JOB_SKIP, sql::JOB_END_READ] {
        check(by_id, "async_task USING INTEGER PRIMARY KEY (rowid=?)");
    }
    check(sql::CLAIM_READ, "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)");
    check(sql::JOB_READ, "SEARCH q USING INTEGER PRIMARY KEY (rowid=?)");
    check(sql::KEY_READ, "job_key USING PRIMARY KEY (biz_id=? AND task_code=?)");
    check(sql::JOBS_ALL, "async_task USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)");
    check(sql::JOBS_BY_TASK, "async_task_by_task (task_code=? AND id>? AND id<?)");
    check(sql::JOBS_BY_KEY, "async_task_by_key (biz_id=? AND id>? AND id<?)");
    check(sql::JOBS_BY_STATUS, "async_task_by_status (task_status=? AND id>? AND id<?)");
    check(sql::JOBS_BY_STATUS_TASK, "(task_status=? AND task_code=? AND id>? AND id<?)");
    check(sql::JOBS_LIVE, "SEARCH q USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)");
    check(sql::JOBS_EXECUTING, "job_queue_state (state=? AND rowid>? AND rowid<?)");
    check(sql::ATTEMPTS_OF_JOB, "PRIMARY KEY (job_id=? AND fence<?)");
    check(sql::ATTEMPTS_OF_TASK, "task_execution_log_by_task (task_code=? AND (execute_time,job_id,fence)<(?,?,?))");
    check(sql::DEAD_JOBS, "dead_job_open (time<?)");
    check(sql::DEAD_JOBS_OF_TASK, "dead_job_open_by_task (task_code=? AND time<?)");
    for by_id in [sql::QUEUE_LANE, sql::QUEUE_WAIT, sql::QUEUE_ADMIT, sql::QUEUE_DELETE] {
        check(by_id, "job_queue USING INTEGER PRIMARY KEY (rowid=?)");
    }
    check(sql::JOB_MADE, "SEARCH q USING INTEGER PRIMARY KEY (rowid=?)");
    check(sql::OUTPUT_READ, "PRIMARY KEY (job_id=? AND fence=? AND seq>?)");
}

#[test]
fn lanes_rates_and_requests_use_the_index_they_name() {
    let conn = database();
    let check = |statement: &str, expect: &str| {
        let plan = plan(&conn, statement);
        assert!(plan.contains(expect), "expected `{expect}` in\n{plan}\nof\n{statement}");
    };
    check(sql::LANE_HELD, "COVERING INDEX job_queue_lane (task_code=? AND concurrency_key=? AND state=?)");
    check(sql::LANE_GO_ON, "SEARCH job_queue USING INTEGER PRIMARY KEY (rowid=?)");
    check(
        sql::LANE_GO_ON,
        "SEARCH w USING COVERING INDEX job_queue_lane (task_code=? AND concurrency_key=? AND state=?)",
    );
    check(sql::LANE_GO_ON, "SEARCH h USING COVERING INDEX job_queue_lane");
    check(sql::LANE_LIVE, "COVERING INDEX job_queue_lane (task_code=?)");
    check(sql::LANE_LIVE_FIRST, "COVERING INDEX job_queue_lane (task_code=?)");
    check(sql::LANE_LIVE_IDS, "COVERING INDEX job_queue_lane (task_code=?)");
    check(sql::LANE_THROTTLED, "COVERING INDEX job_queue_lane (task_code=? AND concurrency_key=? AND state=?)");
    check(sql::LANE_REQUEUE, "job_queue_lane (task_code=?)");
    check(sql::LANE_LEAVE, "job_queue_lane (task_code=?)");
    for scanned in [sql::QUEUE_ORPHAN_LANES, sql::QUEUE_OWN_LANES] {
        check(scanned, "USING INDEX job_queue_lane");
    }
    check(sql::RING_READ, "SEARCH r USING PRIMARY KEY (scope=? AND key=?)");
    check(sql::RING_READ, "SEARCH s USING PRIMARY KEY (scope=? AND key=? AND slot=?)");
    check(sql::RINGS_OPEN, "rate_ring_open (open_at>? AND open_at<?)");
    check(sql::RINGS_NEXT, "rate_ring_open (open_at>?)");
    check(sql::RINGS_DELETE_STARTS, "PRIMARY KEY (scope=?)");
    for by_code in [sql::TASK_FIRED, sql::TASK_NEXT_FIRE, sql::TASK_REPLAN, sql::TASK_PLANNED, sql::TASK_STOP] {
        check(by_code, "task_info USING INDEX sqlite_autoindex_task_info_1 (task_code=?)");
    }
    check(sql::TASK_HAS_PAST, "COVERING INDEX async_task_by_task (task_code=?)");
    check(sql::REQUESTS_FORGET, "request_by_time (time<?)");
    check(sql::REQUEST_READ, "PRIMARY KEY (request_id=?)");
}

/// Jobs outside of lanes must not pay for them: their statements touch neither the columns nor the indexes.
#[test]
fn the_statements_of_plain_jobs_know_no_lane() {
    let plain =
        [sql::JOB_INSERT, sql::QUEUE_INSERT, sql::QUEUE_DUE, sql::QUEUE_CLAIM, sql::QUEUE_END, sql::QUEUE_AGAIN];
    for statement in plain {
        assert!(!statement.contains("lane") && !statement.contains("concurrency_key"), "{statement}");
    }
}

#[test]
fn every_statement_has_its_file_and_its_two_lines() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/sqlite/queries");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().trim_end_matches(".sql").to_owned())
        .collect();
    let named: BTreeSet<String> = sql::ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(files, named);
    for (name, statement) in sql::ALL {
        let mut lines = statement.lines();
        let (what, index) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        assert!(what.starts_with("-- ") && what.contains("alled by"), "{name}: the first line says who calls it");
        assert!(index.starts_with("-- "), "{name}: the second line says which index it relies on");
    }
}
