//! Schedules and limits that are declared in code.

use std::time::Duration;

use mainspring::clock::ManualClock;
use mainspring::prelude::*;
use mainspring::{Define, Misfire, Overlap, Rhythm, StartError, TaskDefinition, TaskKind};

async fn declared(policy: impl FnOnce(Define) -> Define) -> Result<TaskDefinition, StartError> {
    let clock = ManualClock::at("2026-12-01T08:00:00Z".parse().expect("a time"));
    let jobs = Mainspring::in_memory()
        .clock(clock)
        .handler("t", async |_: Context, _: serde_json::Value| ())
        .task("t", policy)
        .start()
        .await?;
    let task = jobs.engine().task(&"t".parse().expect("a code")).await.expect("it is declared");
    jobs.stop(Duration::ZERO).await;
    Ok(task.definition)
}

#[tokio::test]
async fn a_declaration_says_all_that_a_task_can_be() {
    let plain = declared(|task| task).await.expect("good");
    assert_eq!((plain.kind, plain.overlap), (TaskKind::Async, Overlap::Allow));
    let from = "2027-01-01T00:00:00Z".parse().expect("a time");
    let cron = declared(|task| {
        task.cron("30 6 * * *")
            .time_zone("Asia/Shanghai")
            .start_at(from)
            .end_at("2028-01-01T00:00:00Z".parse().expect("a time"))
            .fire_all(7)
            .misfire_grace(Duration::from_millis(1_500))
            .start_deadline(Duration::from_secs(9))
            .max_running(3)
            .rate_limit("10/s")
            .concurrency_key("/tenant")
    });
    let cron = cron.await.expect("good");
    assert_eq!((cron.kind, cron.overlap, cron.start_at), (TaskKind::Cron, Overlap::Forbid, Some(from)));
    assert_eq!(
        (cron.cron_expression.as_deref(), cron.time_zone.as_deref()),
        (Some("30 6 * * *"), Some("Asia/Shanghai"))
    );
    assert_eq!((cron.misfire, cron.max_catchup, cron.misfire_grace_seconds), (Misfire::FireAll, 7, 2));
    assert_eq!((cron.start_deadline_seconds, cron.max_running), (Some(9), Some(3)));
    assert_eq!(cron.rate_limit.map(|rate| rate.to_string()).as_deref(), Some("10/1s"));
    assert_eq!(cron.concurrency_key.as_deref(), Some("/tenant"));
    let rests =
        declared(|task| task.overlap(Overlap::Allow).every_after_end(Duration::from_secs(5))).await.expect("good");
    let rhythm = rests.every.map(|every| (every.span.to_string(), every.rhythm));
    assert_eq!((rests.overlap, rhythm), (Overlap::Allow, Some(("5s".to_owned(), Rhythm::FixedDelay))));
}

#[tokio::test]
async fn a_declaration_says_on_which_nodes_it_runs() {
    let gpu = declared(|task| task.node_label("gpu").node_label("eu").broadcast()).await.expect("good");
    assert_eq!((gpu.node_labels, gpu.broadcast), (vec!["gpu".to_owned(), "eu".to_owned()], true));
}

#[tokio::test]
async fn a_program_says_what_it_is_to_other_nodes() {
    let jobs = Mainspring::in_memory()
        .node_name("here")
        .label("gpu")
        .lease(Duration::from_secs(30))
        .cluster_concurrency("mail", 7)
        .pool("mail", 3)
        .start()
        .await
        .expect("starts");
    let nodes = jobs.engine().store().nodes().await.expect("read");
    assert_eq!((nodes[0].host.as_str(), &nodes[0].labels), ("here", &vec!["gpu".to_owned()]));
    let pools = jobs.engine().store().pools().await.expect("read");
    let mail = pools.iter().find(|pool| pool.name.as_str() == "mail").expect("kept, because all nodes go by it");
    assert_eq!((mail.concurrency, mail.cluster_concurrency), (3, Some(7)));
    jobs.stop(Duration::ZERO).await;
    let check = async |builder: mainspring::Builder, expect: &str| {
        let told = builder.start().await.expect_err("must be refused").to_string();
        assert!(told.contains(expect), "{told}");
    };
    check(Mainspring::in_memory().label("a b"), "label `a b` holds").await;
    check(Mainspring::in_memory().lease(Duration::from_secs(1)), "the lease is 1s").await;
    check(Mainspring::in_memory().cluster_concurrency("mail", 0), "cluster_concurrency is 0").await;
}

#[tokio::test]
async fn what_is_wrong_with_a_declaration_is_told_at_the_start() {
    let check = async |policy: fn(Define) -> Define, expect: &str| {
        let told = declared(policy).await.expect_err("must be refused").to_string();
        assert!(told.starts_with("task `t`: ") && told.contains(expect), "{told}");
    };
    check(|task| task.cron("0 25 * * *"), "the hour is 0 to 23").await;
    check(|task| task.cron("@daily").time_zone("Mars"), "not a time zone").await;
    check(|task| task.cron("0 0 30 2 *"), "no fire time").await;
    check(|task| task.every(Duration::from_millis(5)), "every is 5ms").await;
    check(|task| task.cron("@daily").every(Duration::from_secs(5)), "exclude each other").await;
    check(|task| task.rate_limit("often"), "not a rate").await;
    check(|task| task.node_label("a,b"), "label `a,b` holds").await;
    check(|task| task.broadcast().max_running(2), "maxRunning cannot be used with broadcast").await;
    check(|task| task.pool("a b"), "pool holds").await;
    check(|task| task.cron("@daily").calendar("none"), "there is no calendar `none`").await;
}
