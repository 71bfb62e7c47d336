//! A database of an older schema, with jobs in every state, opens and works.

use std::path::Path;

use mainspring_model::{JobStatus, QueueState};
use rusqlite::Connection;

use super::open;
use crate::Settled;
use crate::sqlite::migrate;
use crate::suite::world::{NODE, T0, at, done, new_job, settlement, task};
use crate::suite::{Subject, World};

/// As the first release left it: a plain task, and one whose limits were defined but not kept. Of the jobs of each, one
/// has ended, one runs and two wait.
const CONTENT: &str = "
    INSERT INTO task_info (task_code, task_name, task_type, task_handler, task_status, timeout_seconds, fail_strategy,
        retry_count, retry_base_ms, retry_cap_ms, pool, priority, overlap, max_running, misfire, misfire_grace_seconds,
        max_catchup, on_lost, tags, version, create_time, update_time)
    SELECT code, code, 'async', 'mail', 'ENABLED', 300, 'RETRY', 3, 1000, 60000, 'default', 2, 'ALLOW', most,
        'FIRE_ONCE', 60, 10, 'RERUN', '[]', 1, 0, 0
    FROM (SELECT 'mail.send' AS code, NULL AS most UNION ALL SELECT 'narrow', 1);
    INSERT INTO async_task (id, task_code, task_status, pool, trigger_type, priority, unique_mode, max_retry, fence,
        execute_time, create_time, update_time, payload, attempts)
    SELECT id, code, status, 'default', 0, 2, 0, 3, status, 1, 1, 1, '{}', status
    FROM (SELECT 1 AS id, 'mail.send' AS code, 2 AS status UNION ALL VALUES (2, 'mail.send', 1), (3, 'mail.send', 0),
        (4, 'mail.send', 0), (5, 'narrow', 2), (6, 'narrow', 1), (7, 'narrow', 0), (8, 'narrow', 0));
    INSERT INTO job_queue (job_id, task_code, pool, priority, due, fence, owner, state)
    SELECT id, task_code, pool, priority, id, fence, iif(task_status = 1, 5, NULL), task_status * 2
    FROM async_task WHERE task_status <> 2;
    INSERT INTO task_execution_log (job_id, fence, task_code, attempt, node, execute_time, execute_status, create_time)
    SELECT job_id, fence, task_code, 1, 1, 1, 1, 1 FROM job_queue WHERE state = 2;
    INSERT INTO node VALUES (5, 1, 'ENGINE', 'here', 7, '1', '', 'ACTIVE', 0, 0);
    INSERT INTO pool VALUES ('default', 8, 100, 0, 'SPILL');";

fn first_release(path: &Path) {
    let mut conn = Connection::open(path).expect("opens");
    migrate::migrate_up_to(1, &mut conn, "old", 0).expect("the first schema");
    conn.execute_batch(CONTENT).expect("content");
}

#[tokio::test]
async fn a_database_of_the_first_schema_opens_and_works() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("main.db");
    first_release(&path);
    let world = World::of(&Subject::new(open(&path).expect("opens")));
    let joined = world.join(NODE, T0).await;
    assert_eq!(joined.taken_over.lost, 2, "the bodies of the old process");
    let old = world.job(1).await;
    assert_eq!((old.status, old.fires, old.skip_reason), (JobStatus::Success, None, None));
    let row = world.store().task(&task("narrow")).await.expect("reads").expect("is there");
    assert_eq!((row.definition.max_running, row.definition.every, row.definition.rate_limit), (Some(1), None, None));
    assert_eq!(world.store().pools().await.expect("reads")[0].rate_limit, None);
    // The limit that was defined is kept now, also among the jobs that were stored before.
    let first = world.claim(10, T0).await.jobs;
    let ids: Vec<i64> = first.iter().map(|claim| claim.id.0).collect();
    assert_eq!(ids.iter().filter(|id| **id <= 4).count(), 3, "{ids:?}");
    assert_eq!(ids.iter().filter(|id| **id > 4).count(), 1, "{ids:?}");
    assert_eq!(world.queue_state(8).await, Some(QueueState::Limited));
    for claim in &first {
        let settled = world.settle(settlement(claim, done(None))).await;
        assert!(matches!(settled, Settled::Applied | Settled::AppliedAndFreed), "{settled:?}");
    }
    for _ in 0..2 {
        let [claim] = &world.claim(10, at(100)).await.jobs[..] else { panic!("one at a time") };
        let settled = world.settle(settlement(claim, done(None))).await;
        assert!(matches!(settled, Settled::Applied | Settled::AppliedAndFreed), "{settled:?}");
    }
    world.stored(vec![new_job(20)]).await;
    assert_eq!(world.claim_ids(10).await, [20]);
    assert_eq!(world.store().verify().await.expect("answers"), []);
}

#[tokio::test]
async fn a_migrated_database_has_the_schema_of_a_fresh_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let schema = |name: &str| {
        let path = directory.path().join(name);
        if name == "old.db" {
            first_release(&path);
        }
        drop(open(&path).expect("opens"));
        let conn = Connection::open(&path).expect("opens");
        let mut rows = conn.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").expect("prepares");
        let rows = rows.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?)));
        rows.expect("queries").collect::<rusqlite::Result<Vec<_>>>().expect("reads")
    };
    assert_eq!(schema("old.db"), schema("new.db"));
}
