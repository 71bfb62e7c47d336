//! The pipeline through the library face, on every store.

mod stores;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mainspring::prelude::*;
use mainspring::{Builder, JobStatus};
use stores::{LIMIT, within};
use tokio::sync::{Notify, Semaphore};

on_every_store!(
    a_job_runs_and_its_result_is_kept,
    the_same_key_is_the_same_job,
    a_live_key_is_free_after_the_end,
    failures_are_retried_until_they_are_spent,
    a_panic_costs_its_attempt_and_nothing_else,
    a_final_failure_is_not_retried,
    a_body_past_its_deadline_is_dropped_and_its_slot_goes_on,
    a_blocking_body_that_ignores_its_deadline_is_a_zombie_and_its_slot_is_replaced,
    a_job_without_a_handler_waits_until_there_is_one,
    a_delayed_job_is_never_early,
    a_cancelled_job_stops_its_body,
    many_jobs_are_answered_one_by_one,
    output_and_progress_are_kept_with_the_attempt,
    a_payload_of_the_wrong_shape_fails_for_good,
    a_snooze_spends_nothing,
);

async fn a_job_runs_and_its_result_is_kept(jobs: Builder) {
    let jobs =
        jobs.handler("greet", async |_: Context, name: String| format!("hello {name}")).start().await.expect("starts");
    let receipt = jobs.submit("greet", "world").await.expect("stored");
    assert!(!receipt.duplicate);
    let end = within(jobs.wait(receipt.id)).await.expect("known");
    assert_eq!((end.status, end.result.as_deref()), (JobStatus::Success, Some("hello world")));
    let job = jobs.job(receipt.id).await.expect("known");
    assert_eq!((job.retry_count, job.attempts), (0, 1));
    assert!(job.start_time >= Some(job.execute_time), "never early");
    let attempts = jobs.engine().store().attempts_of_job(receipt.id, 10, None).await.expect("read").items;
    assert_eq!(attempts.len(), 1);
    assert!(jobs.engine().store().verify().await.expect("read").is_empty());
    jobs.stop(LIMIT).await;
}

async fn the_same_key_is_the_same_job(jobs: Builder) {
    let jobs = jobs.handler("note", async |_: Context, _: u32| ()).start().await.expect("starts");
    let first = jobs.submit("note", &1).biz_id("k").await.expect("stored");
    within(jobs.wait(first.id)).await.expect("known");
    let second = jobs.submit("note", &2).biz_id("k").await.expect("answered");
    assert_eq!(second.id, first.id);
    assert!(second.duplicate && second.payload_differs);
    jobs.stop(LIMIT).await;
}

async fn a_live_key_is_free_after_the_end(jobs: Builder) {
    let go = Arc::new(Semaphore::new(0));
    let gate = go.clone();
    let handler = move |_: Context, (): ()| {
        let gate = gate.clone();
        async move { gate.acquire().await.expect("open").forget() }
    };
    let jobs = jobs.handler("sync", handler).start().await.expect("starts");
    let first = jobs.submit("sync", &()).biz_id("k").unique(Unique::Live).await.expect("stored");
    let while_live = jobs.submit("sync", &()).biz_id("k").unique(Unique::Live).await.expect("answered");
    assert!(while_live.duplicate);
    go.add_permits(1);
    within(jobs.wait(first.id)).await.expect("known");
    let after = jobs.submit("sync", &()).biz_id("k").unique(Unique::Live).await.expect("stored");
    assert!(!after.duplicate && after.id != first.id);
    go.add_permits(1);
    within(jobs.wait(after.id)).await.expect("known");
    jobs.stop(LIMIT).await;
}

async fn failures_are_retried_until_they_are_spent(jobs: Builder) {
    let calls = Arc::new(AtomicU32::new(0));
    let seen = calls.clone();
    let handler = move |context: Context, (): ()| {
        assert_eq!(seen.fetch_add(1, Ordering::Relaxed) + 1, context.attempt());
        async { Err::<(), _>("no luck") }
    };
    let ms = Duration::from_millis;
    let jobs = jobs.handler("fail", handler).task("fail", |task| task.retries(3).backoff(ms(10), ms(40)));
    let jobs = jobs.start().await.expect("starts");
    let receipt = jobs.submit("fail", &()).await.expect("stored");
    let end = within(jobs.wait(receipt.id)).await.expect("known");
    assert_eq!((end.status, end.error.as_deref()), (JobStatus::Failed, Some("no luck")));
    assert_eq!(calls.load(Ordering::Relaxed), 4, "1 + 3 bodies");
    let dead = jobs.engine().store().dead_jobs(None, 10, None).await.expect("read");
    assert_eq!(dead.items.len(), 1);
    let attempts = jobs.engine().store().attempts_of_job(receipt.id, 10, None).await.expect("read").items;
    let mut numbers: Vec<u32> = attempts.iter().map(|attempt| attempt.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4]);
    jobs.stop(LIMIT).await;
}

async fn a_panic_costs_its_attempt_and_nothing_else(jobs: Builder) {
    let handler = async |_: Context, panics: bool| {
        assert!(!panics, "told to panic");
    };
    let jobs = jobs.handler("wall", handler).pool("default", 1).start().await.expect("starts");
    let bad = jobs.submit("wall", &true).retries(0).await.expect("stored");
    let good = jobs.submit("wall", &false).await.expect("stored");
    let end = within(jobs.wait(bad.id)).await.expect("known");
    assert_eq!(end.status, JobStatus::Failed);
    assert!(end.error.expect("a message").contains("told to panic"));
    assert_eq!(within(jobs.wait(good.id)).await.expect("known").status, JobStatus::Success);
    assert_eq!(jobs.engine().health().await.totals.panicked, 1);
    jobs.stop(LIMIT).await;
}

async fn a_final_failure_is_not_retried(jobs: Builder) {
    let jobs = jobs.handler("fatal", async |_: Context, (): ()| Verdict::fail("broken for good"));
    let jobs = jobs.start().await.expect("starts");
    let receipt = jobs.submit("fatal", &()).await.expect("stored");
    let end = within(jobs.wait(receipt.id)).await.expect("known");
    assert_eq!(end.status, JobStatus::Failed);
    assert_eq!(jobs.job(receipt.id).await.expect("known").attempts, 1);
    jobs.stop(LIMIT).await;
}

async fn a_body_past_its_deadline_is_dropped_and_its_slot_goes_on(jobs: Builder) {
    let jobs = jobs
        .handler("hang", async |_: Context, hangs: bool| {
            if hangs {
                std::future::pending::<()>().await;
            }
        })
        .pool("default", 1)
        .start()
        .await
        .expect("starts");
    let hung = jobs.submit("hang", &true).timeout(Duration::from_millis(100)).retries(0).await.expect("stored");
    let next = jobs.submit("hang", &false).await.expect("stored");
    assert_eq!(within(jobs.wait(hung.id)).await.expect("known").status, JobStatus::Timeout);
    assert_eq!(within(jobs.wait(next.id)).await.expect("known").status, JobStatus::Success);
    assert_eq!(jobs.engine().health().await.totals.zombies_ever, 0);
    jobs.stop(LIMIT).await;
}

async fn a_blocking_body_that_ignores_its_deadline_is_a_zombie_and_its_slot_is_replaced(jobs: Builder) {
    let (end_of_spin, spinning) = std::sync::mpsc::sync_channel::<()>(1);
    let spinning = std::sync::Mutex::new(spinning);
    let jobs = jobs
        .blocking("spin", move |_: Context, (): ()| {
            let _ = spinning.lock().expect("alone").recv();
        })
        .handler("ok", async |_: Context, (): ()| ())
        .pool("default", 1)
        .start()
        .await
        .expect("starts");
    let spin = jobs.submit("spin", &()).timeout(Duration::from_millis(50)).await.expect("stored");
    let ok = jobs.submit("ok", &()).await.expect("stored");
    assert_eq!(within(jobs.wait(ok.id)).await.expect("known").status, JobStatus::Success);
    // Final although retries are left: a second body would run beside the first.
    assert_eq!(within(jobs.wait(spin.id)).await.expect("known").status, JobStatus::Timeout);
    assert_eq!(jobs.engine().health().await.totals.zombies_now, 1);
    drop(end_of_spin);
    while jobs.engine().health().await.totals.zombies_now > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(jobs.job(spin.id).await.expect("known").status, JobStatus::Timeout, "the late end changed nothing");
    jobs.stop(LIMIT).await;
}

async fn a_job_without_a_handler_waits_until_there_is_one(jobs: Builder) {
    let jobs = jobs.handler("known", async |_: Context, (): ()| ()).task("other", |task| task).start().await;
    let jobs = jobs.expect("starts");
    let receipt = jobs.submit("other", &()).await.expect("stored");
    let reason = || async {
        let job = jobs.job(receipt.id).await.expect("known");
        jobs.engine().wait_reason(&job).map(|reason| reason.as_str())
    };
    let parked = async {
        while reason().await != Some("NO_HANDLER") {
            tokio::task::yield_now().await;
        }
    };
    within(parked).await;
    let pools = jobs.engine().pools().await.expect("known");
    let counts = |pool: &mainspring::PoolView| (pool.queued.jobs, pool.no_handler.jobs, pool.oldest_due);
    assert_eq!(pools.iter().map(counts).collect::<Vec<_>>(), [(0, 1, Some(receipt.execute_time))]);
    let code: mainspring::TaskCode = "other".parse().expect("a code");
    let task = jobs.engine().task(&code).await.expect("known");
    let mut definition = task.definition.clone();
    definition.handler = "known".parse().expect("a name");
    jobs.engine().update_task(&code, task.version, definition, "test").await.expect("written");
    let end = within(jobs.wait(receipt.id)).await.expect("known");
    assert_eq!(end.status, JobStatus::Success, "{end:?}");
    jobs.stop(LIMIT).await;
}

async fn a_delayed_job_is_never_early(jobs: Builder) {
    let jobs = jobs.handler("ok", async |_: Context, (): ()| ()).start().await.expect("starts");
    let mut ids = Vec::new();
    for delay_ms in [1_u64, 20, 300, 1_500] {
        ids.push(jobs.submit("ok", &()).delay(Duration::from_millis(delay_ms)).await.expect("stored").id);
    }
    for id in ids {
        within(jobs.wait(id)).await.expect("known");
        let job = jobs.job(id).await.expect("known");
        let late_ms = job.start_time.expect("started").ms_since(job.execute_time);
        assert!((0..1_000).contains(&late_ms), "{late_ms} ms late");
    }
    jobs.stop(LIMIT).await;
}

async fn a_cancelled_job_stops_its_body(jobs: Builder) {
    let (began, stopped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell_began, tell_stopped) = (began.clone(), stopped.clone());
    let handler = move |context: Context, (): ()| {
        let (began, stopped) = (tell_began.clone(), tell_stopped.clone());
        async move {
            began.notify_one();
            context.cancelled().await;
            stopped.notify_one();
            Verdict::Cancelled
        }
    };
    let jobs = jobs.handler("long", handler).start().await.expect("starts");
    let receipt = jobs.submit("long", &()).await.expect("stored");
    within(began.notified()).await;
    let cancel = mainspring::JobOperation::Cancel;
    let job = jobs.engine().operate(receipt.id, cancel, "ann").await.expect("allowed");
    assert_eq!(job.status, JobStatus::Cancelled);
    within(stopped.notified()).await;
    let again = jobs.engine().operate(receipt.id, cancel, "ann").await.expect_err("final");
    assert_eq!(again.code(), "OPERATION_NOT_ALLOWED");
    jobs.stop(LIMIT).await;
    assert!(jobs.engine().store().verify().await.expect("read").is_empty());
}

async fn many_jobs_are_answered_one_by_one(jobs: Builder) {
    let jobs = jobs.handler("ok", async |_: Context, _: u32| ()).start().await.expect("starts");
    let item = |n: u32| Item::new(&n).expect("JSON");
    let items = (0..3_000).map(item).chain([item(1).biz_id("a").expect("ok"), item(2).biz_id("a").expect("ok")]);
    let answers = jobs.submit_many("ok", items).await.expect("a task");
    assert_eq!(answers.len(), 3_002);
    let receipts: Vec<_> = answers.into_iter().map(|answer| answer.expect("stored")).collect();
    assert!(receipts[3_001].duplicate && receipts[3_001].id == receipts[3_000].id);
    for receipt in &receipts {
        assert_eq!(within(jobs.wait(receipt.id)).await.expect("known").status, JobStatus::Success);
    }
    jobs.stop(LIMIT).await;
}

async fn output_and_progress_are_kept_with_the_attempt(jobs: Builder) {
    let handler = async |context: Context, (): ()| {
        context.log("one");
        context.progress(50, "half");
        context.log("two\0");
    };
    let jobs = jobs.handler("talk", handler).start().await.expect("starts");
    let receipt = jobs.submit("talk", &()).await.expect("stored");
    within(jobs.wait(receipt.id)).await.expect("known");
    let store = jobs.engine().store();
    let attempt = store.attempts_of_job(receipt.id, 1, None).await.expect("read").items.remove(0);
    let id = mainspring::AttemptId { job: attempt.job, fence: attempt.fence };
    let said = store.output(id, None, 100).await.expect("read");
    let texts: Vec<&str> = said.iter().map(|chunk| chunk.text.as_str()).collect();
    assert_eq!(texts, ["one", "two␀", r#"{"message":"half","percent":50}"#]);
    jobs.stop(LIMIT).await;
}

async fn a_payload_of_the_wrong_shape_fails_for_good(jobs: Builder) {
    let jobs = jobs.handler("typed", async |_: Context, _: u32| ()).start().await.expect("starts");
    let receipt = jobs.submit("typed", "text").await.expect("stored");
    let end = within(jobs.wait(receipt.id)).await.expect("known");
    assert_eq!(end.status, JobStatus::Failed);
    assert!(end.error.expect("a message").contains("does not fit"));
    jobs.stop(LIMIT).await;
}

async fn a_snooze_spends_nothing(jobs: Builder) {
    let handler = async |context: Context, (): ()| match context.attempt() {
        1..=3 => Verdict::Snooze { wait: mainspring::Wait::For(Duration::from_millis(5)), reason: "not yet".into() },
        _ => Verdict::done(),
    };
    let jobs = jobs.handler("later", handler).start().await.expect("starts");
    let receipt = jobs.submit("later", &()).retries(0).await.expect("stored");
    assert_eq!(within(jobs.wait(receipt.id)).await.expect("known").status, JobStatus::Success);
    let job = jobs.job(receipt.id).await.expect("known");
    assert_eq!((job.retry_count, job.lost_count, job.attempts), (0, 0, 4));
    jobs.stop(LIMIT).await;
}
