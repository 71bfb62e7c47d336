//! An embedded database with something in every table, as a team leaves it whose server was killed.

use std::path::Path;
use std::sync::Arc;

use mainspring_model::task::{Overlap, TaskSwitch};
use mainspring_model::{Calendar, CalendarName, PoolName, TaskDefinition, Unique};

use crate::clock::SystemClock;
use crate::suite::scheduled::{at_most, at_rate, cron, of_key, of_task};
use crate::suite::world::{T0, at, definition, done, keyed, new_job, settlement, started, task};
use crate::suite::{Subject, World};
use crate::{NewJob, OutputChunk, PoolSettings, Press, SqliteStore, Store, Stream, WhenFull};

pub(super) fn open_file(path: &Path) -> Result<SqliteStore, crate::OpenError> {
    SqliteStore::open(path, SystemClock::new())
}

fn ann() -> String {
    "ann".to_owned()
}

/// More than one batch of them.
const PLAIN_JOBS: i64 = 1_500;

pub(super) async fn leave_behind(path: &Path) {
    let world = World::new(&Subject::new(open_file(path).expect("opens"))).await;
    world.fill(PLAIN_JOBS).await;
    definitions(&world).await;
    jobs(&world).await;
    let press = Press { request_id: "r1".to_owned(), operation: "trigger report".to_owned(), now: T0 };
    world.store().press(press).await.expect("presses");
    world.store().answer_press("r1".to_owned(), Some("{}".to_owned())).await.expect("answers");
}

async fn definitions(world: &World) {
    let store = world.store();
    let name: CalendarName = "cn".parse().expect("a name");
    let excluded = ["2026-10-01".parse().expect("a day")].into();
    let calendar =
        Calendar { name: name.clone(), description: Some("节假日".to_owned()), excluded, working: [].into() };
    store.put_calendar(calendar, ann(), T0).await.expect("puts");
    let pool = PoolSettings {
        name: PoolName::stored("reports"),
        concurrency: 3,
        cluster_concurrency: Some(5),
        queue_capacity: 9,
        paused: true,
        when_full: WhenFull::Wait,
        rate_limit: Some("7/1m".parse().expect("a rate")),
    };
    store.put_pool(pool, ann(), T0).await.expect("puts");
    let report = TaskDefinition { calendar: Some(name), ..cron(Overlap::Forbid) };
    world.create_firing("report", report, Some(at(60_000))).await;
    world.create("paused", definition()).await;
    store.switch_task(task("paused"), TaskSwitch::Disabled, None, ann(), T0).await.expect("switches");
    store.declare_task(task("declared"), definition(), None, T0).await.expect("declares");
    world.create("slow", at_rate("1/1h")).await;
    world.create("narrow", TaskDefinition { description: Some("a\0b".to_owned()), ..at_most(1) }).await;
    world.create("gone", definition()).await;
    store.delete_task(task("gone"), None, ann(), T0).await.expect("deletes");
}

async fn jobs(world: &World) {
    let long = Some(Arc::from(format!("{{\"x\":\"{}\"}}", "ü\\n🎈'\\\\".repeat(30_000))));
    world.stored((5_001..=5_003).map(|id| of_task(id, "slow")).collect()).await;
    world.stored((5_011..=5_014).map(|id| of_key(id, "narrow", "café")).collect()).await;
    let delayed = NewJob { execute_time: at(3_600_000), ..new_job(5_020) };
    let long = NewJob { payload: long, ..new_job(5_021) };
    world.stored(vec![keyed(5_022, "订单 42", Unique::Always), keyed(5_023, "k ", Unique::Live), delayed, long]).await;
    let claims = world.claim(1_000, T0).await.jobs;
    let written = claims.iter().find(|claim| claim.task == task("slow")).expect("one may start");
    let begun = started(written, at(5));
    world.store().mark_started(vec![begun]).await.expect("starts");
    let chunk = |seq, text: &str| {
        let attempt = mainspring_model::AttemptId { job: written.id, fence: written.fence };
        OutputChunk { attempt, seq, time: at(6), stream: Stream::Log, text: text.to_owned() }
    };
    let chunks = vec![chunk(0, "ok\n"), chunk(1, "a\0b \u{fffd} \u{10ffff}"), chunk(2, "")];
    world.store().append_output(chunks).await.expect("appends");
    let long = claims.iter().find(|claim| claim.id.0 == 5_021).expect("it is due");
    world.settle(settlement(long, done(Some(&format!("\"{}\"", "é".repeat(20_000)))))).await;
    let narrow = claims.iter().find(|claim| claim.task == task("narrow")).expect("one may start");
    world.settle(settlement(narrow, crate::suite::world::failed(false))).await;
}

/// What people and nodes see of a store.
pub(super) async fn seen(store: Arc<dyn Store>) -> Vec<String> {
    let world = World { store };
    let store = world.store();
    let mut lines = Vec::new();
    let mut tasks = store.tasks().await.expect("reads");
    tasks.sort_by_key(|task| task.id);
    lines.extend(tasks.iter().map(|task| format!("{task:?}")));
    lines.push(format!("{:?} {:?}", store.calendars().await.expect("reads"), store.pools().await.expect("reads")));
    let mut nodes = store.nodes().await.expect("reads");
    nodes.sort_by_key(|node| node.incarnation);
    lines.push(format!("{nodes:?}"));
    for job in world.listed_ids().await {
        let attempts = store.attempts_of_job(mainspring_model::JobId(job), 100, None).await.expect("reads");
        for attempt in &attempts.items {
            let id = mainspring_model::AttemptId { job: attempt.job, fence: attempt.fence };
            lines.push(format!("{attempt:?} {:?}", store.output(id, None, 100).await.expect("reads")));
        }
        lines.push(format!("{:?}", world.job(job).await));
    }
    let dead = store.dead_jobs(None, 1_000, None).await.expect("reads");
    lines.push(format!("{:?}", dead.items));
    lines
}
