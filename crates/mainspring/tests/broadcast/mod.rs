//! Broadcasts: one job becomes a part on every node, and ends when all parts have.

mod ends;

use std::collections::BTreeSet;

use mainspring::{Context, Job, JobFilter, JobId, JobOperation, JobStatus, Shard, TaskDefinition, TaskSwitch};
use mainspring_store::Store;

use crate::cluster::{Cluster, Way, code};
use crate::definition;

/// A task with this handler, on every node.
fn broadcast(handler: &str) -> TaskDefinition {
    TaskDefinition { broadcast: true, ..definition(handler) }
}

impl Cluster {
    /// Nodes that also have the handler `shard`, which says who runs which part.
    async fn of_shards(names: &[&'static str], definition: TaskDefinition) -> Cluster {
        let mut cluster = Cluster::new();
        for name in names.iter().copied() {
            cluster.start_sharded(name).await;
        }
        let made = cluster.engine(names[0]).create_task(code("all"), definition, TaskSwitch::Enabled, "ann").await;
        made.expect("made");
        cluster
    }

    async fn start_sharded(&mut self, name: &'static str) {
        let says = move |context: Context, _: serde_json::Value| async move {
            let Shard { index, total } = context.shard().expect("it is a part");
            format!("{index} of {total} on {name}")
        };
        self.start(name, |jobs| jobs.handler("shard", says)).await;
    }

    /// By index.
    async fn parts(&self, parent: JobId) -> Vec<Job> {
        let filter = JobFilter { task: Some(code("all")), ..JobFilter::default() };
        let mut parts = self.store.jobs(filter, 200, None).await.expect("read").items;
        let prefix = format!("shard@{parent}@");
        parts.retain(|job| job.biz_id.as_ref().is_some_and(|key| key.as_str().starts_with(&prefix)));
        parts.sort_by_key(|job| job.shard.map(|shard| shard.index));
        let shards: Vec<_> = parts.iter().filter_map(|job| job.shard.map(|shard| shard.index)).collect();
        assert!(shards.iter().copied().eq(0..u32::try_from(parts.len()).expect("few")), "{shards:?}");
        parts
    }

    async fn until_parts_are(&self, parent: JobId, status: JobStatus) {
        let are = async || {
            let parts = self.parts(parent).await;
            !parts.is_empty() && parts.iter().all(|part| part.status == status)
        };
        self.until(&format!("all parts are {status}"), are).await;
    }

    /// Who coordinates.
    async fn holder(&self, parent: JobId) -> &'static str {
        let owner = self.job(parent).await.queue.and_then(|entry| entry.owner).expect("somebody does");
        let names = ["a", "b", "c"];
        names.into_iter().find(|name| self.engine(name).node().incarnation == owner).expect("one of them")
    }

    async fn result(&self, parent: JobId) -> serde_json::Value {
        let end = self.store.job_end(parent).await.expect("read").expect("it has ended");
        serde_json::from_str(&end.result.unwrap_or_else(|| panic!("no result: {:?}", end.error))).expect("JSON")
    }
}

fn others(than: &str) -> Vec<&'static str> {
    ["a", "b", "c"].into_iter().filter(|name| *name != than).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_node_runs_one_part_and_the_results_are_joined() {
    let cluster = Cluster::of_shards(&["a", "b", "c"], broadcast("shard")).await;
    for _ in 0..2 {
        let id = cluster.submit("a", "all").await;
        cluster.until_status(id, JobStatus::Success).await;
        let result = cluster.result(id).await;
        assert_eq!(result["total"], 3);
        let parts = cluster.parts(id).await;
        let mut nodes = BTreeSet::new();
        for (index, (shown, part)) in result["parts"].as_array().expect("parts").iter().zip(&parts).enumerate() {
            assert_eq!((&shown["index"], &shown["status"]), (&index.into(), &"SUCCESS".into()));
            assert_eq!(shown["job"], part.id.to_string());
            let words = shown["result"].as_str().expect("text");
            let node = words.strip_prefix(&format!("{index} of 3 on ")).unwrap_or_else(|| panic!("{words}"));
            nodes.insert(node.to_owned());
        }
        assert_eq!(nodes, BTreeSet::from(["a", "b", "c"].map(str::to_owned)));
        assert_eq!(parts.iter().map(|part| part.attempts).collect::<Vec<_>>(), [1, 1, 1]);
    }
    let pools = cluster.engine("a").pools().await.expect("read");
    assert_eq!(pools.iter().map(|pool| pool.settings.name.as_str()).collect::<Vec<_>>(), ["default"]);
    cluster.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_nodes_with_the_handler_and_the_labels_get_a_part() {
    let labelled = TaskDefinition { node_labels: vec!["eu".to_owned()], ..broadcast("gated") };
    let mut cluster = Cluster::of_shards(&["a"], labelled).await;
    cluster.start("b", |jobs| jobs.label("eu")).await;
    cluster.start("c", |jobs| jobs.label("eu").label("gpu")).await;
    let id = cluster.submit("a", "all").await;
    cluster.until_begun(2).await;
    cluster.pass(1).await;
    let ran: BTreeSet<_> = cluster.began().into_iter().map(|(node, _)| node).collect();
    assert_eq!(ran, BTreeSet::from(["b", "c"]));
    cluster.gate.add_permits(2);
    cluster.until_status(id, JobStatus::Success).await;
    assert_eq!(cluster.parts(id).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_of_one_slot_does_not_wait_for_itself() {
    let mut cluster = Cluster::new();
    let task = |jobs: mainspring::Builder| jobs.pool("narrow", 1).task("gated", |task| task.pool("narrow").broadcast());
    for name in ["a", "b"] {
        cluster.start(name, task).await;
    }
    let ids = [cluster.submit("a", "gated").await, cluster.submit("b", "gated").await];
    cluster.until_begun(4).await;
    cluster.gate.add_permits(4);
    for id in ids {
        cluster.until_status(id, JobStatus::Success).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dead_coordinator_has_begun_is_joined_by_another() {
    let lost_for_good = TaskDefinition { on_lost: mainspring::OnLost::Fail, ..broadcast("gated") };
    for definition in [broadcast("gated"), lost_for_good] {
        let loses_its_part = definition.on_lost == mainspring::OnLost::Fail;
        let mut cluster = Cluster::of_shards(&["a", "b", "c"], definition).await;
        let id = cluster.submit("a", "all").await;
        cluster.until_begun(3).await;
        cluster.pass(1).await;
        let holder = cluster.holder(id).await;
        cluster.set_way(holder, Way::Dead);
        let ran_again = async || cluster.began().len() == 4 || loses_its_part && cluster.job(id).await.lost_count == 1;
        cluster.until("others have taken over", ran_again).await;
        cluster.pass(2).await;
        assert_eq!(cluster.parts(id).await.len(), 3, "no part is made twice");
        for node in others(holder) {
            let own = cluster.began().into_iter().filter(|(name, _)| *name == node);
            assert!(own.count() <= 2, "its own part, and perhaps that of the dead node");
        }
        cluster.gate.add_permits(3);
        let end = if loses_its_part { JobStatus::Failed } else { JobStatus::Success };
        cluster.until_status(id, end).await;
        let parent = cluster.job(id).await;
        assert_eq!((parent.attempts, parent.lost_count), (2, 1), "{parent:?}");
        if loses_its_part {
            let error = parent.error_msg.unwrap_or_default();
            assert!(error.starts_with("1 of 3 parts failed: part ") && error.contains("onLost = FAIL"), "{error}");
        } else {
            let lost: Vec<_> = cluster.parts(id).await.iter().map(|part| part.lost_count).collect();
            assert_eq!(lost.iter().sum::<u32>(), 1, "that of the dead node: {lost:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_part_of_a_node_that_dies_before_it_began_runs_elsewhere_with_its_index() {
    let mut cluster = Cluster::of_shards(&["a", "b", "c"], broadcast("shard")).await;
    cluster.pass(1).await;
    cluster.set_way("c", Way::Dead);
    let id = cluster.submit("a", "all").await;
    cluster
        .until("two parts have ended", async || {
            cluster.parts(id).await.iter().filter(|part| part.status == JobStatus::Success).count() == 2
        })
        .await;
    assert_eq!(cluster.parts(id).await.len(), 3, "c was alive as far as anybody knew");
    cluster.until_status(id, JobStatus::Success).await;
    let result = cluster.result(id).await;
    let ran: Vec<_> = (0..3).map(|index| result["parts"][index]["result"].as_str().expect("text")).collect();
    assert!((0..3).all(|index| ran[index].starts_with(&format!("{index} of 3 on "))), "{ran:?}");
    assert!(!ran.iter().any(|words| words.ends_with('c')), "{ran:?}");
    let moved = cluster.parts(id).await.into_iter().filter(|part| part.pool.as_str() == "default").count();
    assert_eq!(moved, 1);
    cluster.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coordinator_does_not_hold_up_the_stop_of_its_node() {
    let cluster = Cluster::of_shards(&["a", "b", "c"], broadcast("gated")).await;
    let id = cluster.submit("a", "all").await;
    cluster.until_begun(3).await;
    cluster.pass(1).await;
    let holder = cluster.holder(id).await;
    let engine = cluster.engine(holder).clone();
    let mut tasks = tokio::task::JoinSet::new();
    let stop = tasks.spawn(async move { engine.stop(std::time::Duration::from_secs(600)).await.given_back });
    let its_part = cluster.began().into_iter().find(|(node, _)| *node == holder).expect("it has one").1;
    cluster.pass(1).await;
    assert!(!stop.is_finished(), "its part goes on");
    cluster.engine(others(holder)[0]).operate(its_part, JobOperation::Cancel, "ann").await.expect("allowed");
    cluster.until("it has stopped", async || stop.is_finished()).await;
    assert_eq!(tasks.join_next().await.expect("it was spawned").expect("no panic"), 1, "the parent");
    assert_eq!(cluster.job(id).await.lost_count, 0);
    cluster.gate.add_permits(2);
    cluster.until_status(id, JobStatus::Failed).await;
    let parts = cluster.parts(id).await;
    assert_eq!(parts.iter().filter(|part| part.status == JobStatus::Success).count(), 2);
}
