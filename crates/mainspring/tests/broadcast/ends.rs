//! How broadcasts end otherwise than well, and what people do to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mainspring::{Error, JobOperation, JobStatus, Overlap, TaskDefinition, TaskSwitch};
use mainspring_store::Store;

use super::broadcast;
use crate::cluster::{Cluster, code};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_that_fails_is_named_and_taken_up_again_with_its_parent() {
    let mut cluster = Cluster::new();
    let is_broken = Arc::new(AtomicBool::new(true));
    for name in ["a", "b", "c"] {
        let is_broken = is_broken.clone();
        let body = move |_: mainspring::Context, _: serde_json::Value| {
            let fails = name == "b" && is_broken.load(Ordering::Acquire);
            async move { if fails { Err("no disk") } else { Ok(()) } }
        };
        cluster.start(name, |jobs| jobs.handler("weak", body)).await;
    }
    let mut definition = broadcast("weak");
    definition.retry.count = 2;
    cluster.engine("a").create_task(code("all"), definition, TaskSwitch::Enabled, "ann").await.expect("made");
    let id = cluster.submit("a", "all").await;
    cluster.until_status(id, JobStatus::Failed).await;
    let parts = cluster.parts(id).await;
    let failed = parts.iter().find(|part| part.status == JobStatus::Failed).expect("one of them");
    let index = failed.shard.expect("a part").index;
    let error = cluster.job(id).await.error_msg.unwrap_or_default();
    assert_eq!(error, format!("1 of 3 parts failed: part {index} (job {}) FAILED: no disk", failed.id));
    assert_eq!((failed.attempts, failed.retry_count, cluster.job(id).await.attempts), (3, 2, 1), "it was retried");
    is_broken.store(false, Ordering::Release);
    cluster.engine("c").operate(id, JobOperation::Retry, "ann").await.expect("allowed");
    cluster.until_status(id, JobStatus::Success).await;
    let parts = cluster.parts(id).await;
    assert_eq!(parts.len(), 3);
    for part in parts {
        assert_eq!(part.attempts, if part.id == failed.id { 4 } else { 1 }, "{part:?}");
    }
    cluster.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_broadcast_by_a_person_is_the_end_of_its_parts() {
    let cluster = Cluster::of_shards(&["a", "b", "c"], broadcast("gated")).await;
    for (operation, by) in [(JobOperation::Cancel, "a"), (JobOperation::Fail, "b"), (JobOperation::Cancel, "c")] {
        let before = cluster.began().len();
        let id = cluster.submit("a", "all").await;
        cluster.until_begun(before + 3).await;
        cluster.pass(1).await;
        cluster.engine(by).operate(id, operation, "ann").await.expect("allowed");
        cluster.until_parts_are(id, JobStatus::Cancelled).await;
        cluster.until("the bodies are stopped", async || cluster.stopped().len() == before + 3).await;
        for part in cluster.parts(id).await {
            assert_eq!(part.error_msg, Some(format!("cancelled by job {id}")));
        }
    }
    cluster.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_of_the_parent_lets_another_node_go_on_with_the_same_parts() {
    let cluster = Cluster::of_shards(&["a", "b"], broadcast("gated")).await;
    let id = cluster.submit("a", "all").await;
    cluster.until_begun(2).await;
    cluster.pass(1).await;
    cluster.engine("b").operate(id, JobOperation::Release, "ann").await.expect("allowed");
    cluster.until("somebody goes on", async || cluster.job(id).await.status == JobStatus::Executing).await;
    cluster.pass(3).await;
    assert_eq!((cluster.parts(id).await.len(), cluster.began().len()), (2, 2));
    cluster.gate.add_permits(2);
    cluster.until_status(id, JobStatus::Success).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broadcast_that_must_not_overlap_is_refused_while_one_is_live() {
    let forbid = TaskDefinition { overlap: Overlap::Forbid, ..broadcast("gated") };
    let cluster = Cluster::of_shards(&["a", "b"], forbid).await;
    let trigger = async || cluster.engine("a").trigger_task(&code("all"), None, None, "ann").await;
    let id = trigger().await.expect("none is live").id;
    cluster.until_begun(2).await;
    cluster.pass(1).await;
    let refused = trigger().await;
    assert!(matches!(&refused, Err(Error::Refused(refused)) if refused.code.as_str() == "TASK_RUNNING"), "{refused:?}");
    cluster.gate.add_permits(2);
    cluster.until_status(id, JobStatus::Success).await;
    let id = trigger().await.expect("none is live").id;
    cluster.gate.add_permits(2);
    cluster.until_status(id, JobStatus::Success).await;
    cluster.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broadcast_that_replaces_ends_the_parts_of_the_other() {
    let replace = TaskDefinition { overlap: Overlap::Replace, ..broadcast("gated") };
    let cluster = Cluster::of_shards(&["a", "b"], replace).await;
    let trigger = async |on: &str| {
        cluster.engine(on).trigger_task(&code("all"), None, None, "ann").await.expect("it replaces").id
    };
    let first = trigger("a").await;
    cluster.until_begun(2).await;
    cluster.pass(1).await;
    let second = trigger("b").await;
    cluster.until_parts_are(first, JobStatus::Cancelled).await;
    cluster.until("the bodies are stopped", async || cluster.stopped().len() == 2).await;
    cluster.until_begun(4).await;
    cluster.gate.add_permits(2);
    cluster.until_status(second, JobStatus::Success).await;
    assert_eq!(cluster.job(first).await.status, JobStatus::Cancelled);
    cluster.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broadcast_that_was_accepted_runs_although_its_task_is_disabled_meanwhile() {
    let cluster = Cluster::of_shards(&["a", "b"], broadcast("shard")).await;
    let later = std::time::Duration::from_secs(3);
    let stored = cluster.on("a").submit("all", &serde_json::Value::Null).delay(later).await.expect("stored");
    cluster.engine("b").switch_task(&code("all"), TaskSwitch::Disabled, "ann").await.expect("paused");
    cluster.until_status(stored.id, JobStatus::Success).await;
    assert_eq!(cluster.result(stored.id).await["total"], 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broadcast_has_no_time_out_of_its_own_and_its_parts_have() {
    let brief = TaskDefinition { timeout_seconds: 3, ..broadcast("gated") };
    let cluster = Cluster::of_shards(&["a", "b"], brief).await;
    let id = cluster.on("a").submit("all", &serde_json::Value::Null).retries(1).await.expect("stored").id;
    cluster.until_status(id, JobStatus::Failed).await;
    let error = cluster.job(id).await.error_msg.unwrap_or_default();
    assert!(error.starts_with("2 of 2 parts failed: part 0 ") && error.contains("timed out after 3000 ms"), "{error}");
    assert_eq!(cluster.began().len(), 4, "each was retried as the submitter asked for");
    let dead = cluster.store.dead_jobs(Some(code("all")), 9, None).await.expect("read").items;
    assert_eq!(dead.len(), 3);
}
