//! History is dropped by days from the command line, on the database that keeps it so.

use std::process::{Command, Output};

use mainspring_e2e::binary;
use mainspring_test_servers::{Kind, shared, sql};
use serde_json::{Value, json};

fn mainspring(url: &str, args: &[&str]) -> Output {
    Command::new(binary()).args(args).args(["--database", url]).output().expect("it runs")
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Two jobs that ended on the first of March 2026, one of the second that waits.
const JOBS: &str = "
    CREATE TABLE async_task_20260301 PARTITION OF async_task FOR VALUES FROM (286286413824000000) TO (286648801689600000);
    CREATE TABLE task_execution_log_20260301 PARTITION OF task_execution_log
        FOR VALUES FROM (286286413824000000) TO (286648801689600000);
    CREATE TABLE async_task_20260302 PARTITION OF async_task FOR VALUES FROM (286648801689600000) TO (287011189555200000);
    CREATE TABLE task_execution_log_20260302 PARTITION OF task_execution_log
        FOR VALUES FROM (286648801689600000) TO (287011189555200000);
    INSERT INTO async_task (id, task_code, task_status, pool, trigger_type, priority, unique_mode, max_retry, fence,
        execute_time, create_time, update_time)
    SELECT id, 'mail', CASE WHEN id = 286648801689600001 THEN 0 ELSE 2 END, 'default', 0, 2, 0, 3, 0, 0, 0, 0
    FROM unnest(ARRAY[286286413824000001, 286286413824000002, 286648801689600001]) AS jobs (id);
    INSERT INTO job_queue (job_id, task_code, pool, priority, due, fence, state)
    VALUES (286648801689600001, 'mail', 'default', 2, 0, 0, 0)";

#[test]
fn days_are_shown_and_then_dropped() {
    let url = shared(Kind::Postgres).expect("a database");
    let nothing_there = mainspring(&url, &["verify"]);
    assert_eq!(nothing_there.status.code(), Some(78), "it makes none: {nothing_there:?}");
    let drop = ["history", "drop", "--before", "2026-03-05"];
    said(&mainspring(&url, &[&drop[..], &["--dry-run"]].concat()));
    sql(&url, JOBS).expect("fills");
    let shown = said(&mainspring(&url, &[&drop[..], &["--dry-run"]].concat()));
    let kept = "2026-03-02: kept: job 286648801689600001 is not final\n";
    assert_eq!(
        shown,
        format!("2026-03-01: would be dropped\n{kept}1 days with 2 jobs and 0 attempts would be dropped\n")
    );
    assert_eq!(sql(&url, "SELECT count(*) FROM async_task").expect("counts"), "3");
    let done: Value =
        serde_json::from_str(&said(&mainspring(&url, &[&drop[..], &["--format", "json"]].concat()))).expect("JSON");
    let kept = json!([{ "day": "2026-03-02", "reason": "job 286648801689600001 is not final" }]);
    assert_eq!(done, json!({ "days": ["2026-03-01"], "jobs": 2, "attempts": 0, "kept": kept }));
    assert_eq!(sql(&url, "SELECT count(*) FROM async_task").expect("counts"), "1");
    said(&mainspring(&url, &["verify"]));
}

#[test]
fn other_databases_refuse() {
    let url = shared(Kind::MariaDb).expect("a database");
    let refused = mainspring(&url, &["history", "drop", "--before", "2026-03-05"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("only PostgreSQL"), "{refused:?}");
}
