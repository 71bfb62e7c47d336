//! Each hot statement uses the index that its file names, without sorting and without scanning.

use std::collections::BTreeSet;

use rusqlite::Connection;

use crate::sqlite::{open, sql};

/// Statements that run rarely and say in their second line what they scan.
const SCANS: &[&str] = &[
    "node_others_gone",
    "live_jobs",
    "nodes",
    "pools",
    "queue_held",
    "queue_release_orphans",
    "queue_release_own",
    "queue_set_apart",
    "queue_started_orphans",
    "task_live",
    "tasks",
];

fn database() -> Connection {
    let conn = open::open_in_memory(mainspring_model::Timestamp::from_ms(0)).expect("opens");
    // Statistics that lie: a plan must not hang on them.
    conn.execute_batch(
        "ANALYZE;
         INSERT INTO sqlite_stat1 VALUES ('job_queue', 'job_queue_due', '1000000 1000000 500000 2');
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
        let scans = plan.lines().any(|line| line.starts_with("SCAN ") && !line.contains("SCAN (subquery"));
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
    for by_id in [sql::JOB_SETTLE, sql::JOB_START, sql::JOB_FIRST, sql::JOB_EXISTS, sql::JOB_END_READ] {
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
    check(sql::OUTPUT_READ, "PRIMARY KEY (job_id=? AND fence=? AND seq>?)");
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
