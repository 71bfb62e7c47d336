//! Pools, their policies when they are full, and callers that go away, on every store.

mod stores;

use std::sync::Arc;
use std::time::Duration;

use mainspring::prelude::*;
use mainspring::{Builder, JobStatus, WhenFull};
use stores::{LIMIT, within};
use tokio::sync::Semaphore;

on_every_store!(
    a_full_pool_spills_to_the_store_and_loses_nothing,
    a_full_pool_refuses_when_it_is_told_to,
    a_full_pool_can_make_the_caller_run_the_job,
    a_full_pool_holds_a_caller_for_its_own_job_only,
    a_bulk_submit_whose_caller_goes_away_leaves_nothing_undone,
    a_paused_pool_starts_nothing,
    a_polite_stop_gives_back_what_did_not_start,
);

fn small_pool(when_full: WhenFull) -> mainspring::PoolSettings {
    mainspring::PoolSettings {
        name: "default".parse().expect("a name"),
        concurrency: 1,
        queue_capacity: 2,
        paused: false,
        when_full,
        rate_limit: None,
        cluster_concurrency: None,
    }
}

/// An engine with one slot, two places, and a handler that waits for its permit.
async fn gated(jobs: Builder, when_full: WhenFull) -> (Mainspring, Arc<Semaphore>) {
    let go = Arc::new(Semaphore::new(0));
    let gate = go.clone();
    let handler = move |_: Context, (): ()| {
        let gate = gate.clone();
        async move { gate.acquire().await.expect("open").forget() }
    };
    let jobs = jobs.handler("gated", handler).start().await.expect("starts");
    jobs.engine().put_pool(small_pool(when_full), "test").await.expect("changed");
    (jobs, go)
}

async fn a_full_pool_spills_to_the_store_and_loses_nothing(jobs: Builder) {
    let (jobs, go) = gated(jobs, WhenFull::Spill).await;
    let mut ids = Vec::new();
    for _ in 0..50 {
        ids.push(jobs.submit("gated", &()).await.expect("stored").id);
    }
    let pool = jobs.engine().pools().await.expect("read").remove(0);
    assert!(pool.held <= 2 && pool.running <= 1, "{pool:?}");
    go.add_permits(50);
    for id in ids {
        assert_eq!(within(jobs.wait(id)).await.expect("known").status, JobStatus::Success);
    }
    jobs.stop(LIMIT).await;
}

async fn a_full_pool_refuses_when_it_is_told_to(jobs: Builder) {
    let (jobs, go) = gated(jobs, WhenFull::Reject).await;
    let mut stored = Vec::new();
    let refused = loop {
        match jobs.submit("gated", &()).await {
            Ok(receipt) => stored.push(receipt.id),
            Err(error) => break error,
        }
        assert!(stored.len() <= 3, "one runs, two wait");
    };
    assert_eq!(refused.code(), "BACKLOG_FULL");
    go.add_permits(10);
    for id in stored {
        within(jobs.wait(id)).await.expect("known");
    }
    jobs.stop(LIMIT).await;
}

async fn a_full_pool_can_make_the_caller_run_the_job(jobs: Builder) {
    let (jobs, go) = gated(jobs, WhenFull::CallerRuns).await;
    let mut stored = Vec::new();
    loop {
        let submit = async { jobs.submit("gated", &()).await.expect("stored").id };
        match tokio::time::timeout(Duration::from_millis(500), submit).await {
            Ok(id) => stored.push(id),
            Err(_) => break, // this caller runs the job: it waits for a permit
        }
        assert!(stored.len() <= 3, "one runs, two wait");
    }
    go.add_permits(10);
    let last = within(jobs.submit("gated", &()).into_future()).await.expect("stored");
    within(jobs.wait(last.id)).await.expect("known");
    for id in stored {
        within(jobs.wait(id)).await.expect("known");
    }
    jobs.stop(Duration::from_secs(1)).await;
}

async fn a_full_pool_holds_a_caller_for_its_own_job_only(jobs: Builder) {
    let (jobs, go) = gated(jobs, WhenFull::CallerRuns).await;
    let mut others = Vec::new();
    let running = async |bodies| {
        while jobs.engine().pools().await.expect("read")[0].running < bodies {
            tokio::task::yield_now().await;
        }
    };
    for _ in 0..3 {
        others.push(within(jobs.submit("gated", &()).into_future()).await.expect("stored").id); // one runs, two wait
        running(1).await;
    }
    let own = jobs.submit("gated", &());
    let (own, ()) = tokio::join!(within(own.into_future()), async {
        running(2).await;
        go.add_permits(2); // the first body and the caller's; the others still wait
    });
    own.expect("the caller is let go when its own attempt has ended");
    go.add_permits(2);
    for id in others {
        within(jobs.wait(id)).await.expect("known");
    }
    jobs.stop(LIMIT).await;
}

async fn a_bulk_submit_whose_caller_goes_away_leaves_nothing_undone(jobs: Builder) {
    let jobs = jobs.handler("ok", async |_: Context, _: u32| ()).start().await.expect("starts");
    for round in 0..20_u32 {
        let items: Vec<Item> = (0..200).map(|n| Item::new(&(round * 200 + n)).expect("JSON")).collect();
        let submit = jobs.submit_many("ok", items);
        // Polled a few times, then dropped: somewhere in the middle.
        let mut submit = Box::pin(submit);
        for _ in 0..=round {
            let _ = futures_poll(submit.as_mut()).await;
        }
    }
    let idle = async {
        loop {
            let pool = jobs.engine().pools().await.expect("read").remove(0);
            if pool.running == 0 && pool.held == 0 && pool.queued.jobs == 0 && no_live_jobs(&jobs).await {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    within(idle).await;
    let more: Vec<Item> = (0..5_000).map(|n| Item::new(&n).expect("JSON")).collect();
    for answer in within(jobs.submit_many("ok", more)).await.expect("a task") {
        within(jobs.wait(answer.expect("stored").id)).await.expect("known");
    }
    jobs.stop(LIMIT).await;
}

async fn futures_poll<F: Future>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        std::task::Poll::Ready(output) => std::task::Poll::Ready(Some(output)),
        std::task::Poll::Pending => std::task::Poll::Ready(None),
    })
    .await
}

async fn no_live_jobs(jobs: &Mainspring) -> bool {
    let filter = mainspring::JobFilter { status: vec![JobStatus::Pending], ..mainspring::JobFilter::default() };
    jobs.engine().jobs(filter, 1, None).await.expect("read").items.is_empty()
}

async fn a_paused_pool_starts_nothing(jobs: Builder) {
    let jobs = jobs.handler("ok", async |_: Context, (): ()| ()).start().await.expect("starts");
    let mut pool = jobs.engine().pools().await.expect("read").remove(0).settings;
    pool.paused = true;
    jobs.engine().put_pool(pool.clone(), "test").await.expect("changed");
    let receipt = jobs.submit("ok", &()).await.expect("stored");
    let waited = tokio::time::timeout(Duration::from_millis(300), jobs.wait(receipt.id)).await;
    assert!(waited.is_err(), "it ran in a paused pool");
    let job = jobs.job(receipt.id).await.expect("known");
    assert_eq!(jobs.engine().wait_reason(&job).map(|reason| reason.as_str()), Some("POOL_PAUSED"));
    pool.paused = false;
    jobs.engine().put_pool(pool, "test").await.expect("changed");
    assert_eq!(within(jobs.wait(receipt.id)).await.expect("known").status, JobStatus::Success);
    jobs.stop(LIMIT).await;
}

async fn a_polite_stop_gives_back_what_did_not_start(jobs: Builder) {
    let (jobs, go) = gated(jobs, WhenFull::Spill).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(jobs.submit("gated", &()).await.expect("stored").id);
    }
    // The one body ends while the engine stops, the others never begin.
    let (report, ()) = tokio::join!(jobs.stop(LIMIT), async { go.add_permits(1) });
    assert_eq!((report.given_up, report.unwritten), (0, 0), "{report:?}");
    let store = jobs.engine().store();
    for id in ids {
        let job = store.job(id).await.expect("read").expect("kept");
        assert!(job.status == JobStatus::Success || job.attempts == 0, "{job:?}");
        assert!(job.queue.is_none_or(|entry| entry.owner.is_none()), "still held: {job:?}");
    }
    assert_eq!(jobs.submit("gated", &()).await.expect_err("stopped").code(), "STOPPING");
}
