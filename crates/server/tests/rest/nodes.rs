//! Several nodes on one store: what is shown of them, drains, and whose an attempt was.

use mainspring_model::ids::JobIds;
use mainspring_model::job::OnLive;
use mainspring_model::{Incarnation, PoolName, Priority, Shard, Trigger, Unique};
use mainspring_store::{NewJob, NewNode, Replaces};
use serde_json::{Value, json};

use crate::house::{House, house};

/// Another node on the store of this house.
async fn join(house: &House, incarnation: i64, host: &str) -> u16 {
    let node = NewNode {
        incarnation: Incarnation(incarnation),
        host: host.to_owned(),
        pid: 77,
        version: "9.9.9".to_owned(),
        lease_ms: 600_000,
        labels: vec!["gpu".to_owned()],
        handlers: vec!["test.done".to_owned()],
        replaces: Replaces::Nobody,
    };
    house.engine.store().join(node, house.engine.clock().now()).await.unwrap().node_number
}

async fn node(house: &House, id: &str) -> Value {
    let nodes = house.get("/api/v1/nodes").await.json();
    nodes["items"].as_array().unwrap().iter().find(|node| node["id"] == id).unwrap().clone()
}

const OTHER: &str = "000000000000002a";

#[tokio::test]
async fn each_node_is_shown_under_its_own_host() {
    let house = house().await;
    let number = join(&house, 42, "elsewhere").await;
    let shown = node(&house, OTHER).await;
    assert_eq!(shown["name"], format!("elsewhere#{number}"));
    let told = ["host", "pid", "version", "state", "labels", "handlers", "allowedOperations", "deniedOperations"];
    let told = told.map(|field| shown[field].clone());
    let expect = json!(["elsewhere", 77, "9.9.9", "ACTIVE", ["gpu"], ["test.done"], ["drain"], {}]);
    assert_eq!(json!(told), expect);
    assert!(shown["expiresAt"].as_str() > shown["heartbeatAt"].as_str(), "{shown}");
    let own = node(&house, &house.engine.health().await.node.incarnation.to_string()).await;
    assert_eq!(own["name"], format!("localhost#{}", own["number"]));
}

#[tokio::test]
async fn a_node_is_drained_once_however_often_it_is_asked_for() {
    let house = house().await;
    join(&house, 42, "elsewhere").await;
    let drain = format!("/api/v1/nodes/{OTHER}/drain");
    let first = house.post(&drain, r#"{"requestId":"d"}"#).await;
    assert_eq!((first.status.as_u16(), &first.json()["state"]), (200, &json!("DRAINING")));
    assert_eq!(first.json()["deniedOperations"], json!({"drain": "ALREADY_DRAINING"}));
    let again = house.post(&drain, r#"{"requestId":"d"}"#).await;
    assert_eq!(again.text, first.text.replace(r#""duplicate":false"#, r#""duplicate":true"#));
    let anew = house.post(&drain, "").await;
    assert_eq!((anew.status.as_u16(), &anew.json()["state"]), (200, &json!("DRAINING")));
}

#[tokio::test]
async fn a_node_that_is_gone_or_unknown_is_not_drained() {
    let house = house().await;
    join(&house, 42, "elsewhere").await;
    house.engine.store().leave(Incarnation(42), house.engine.clock().now()).await.unwrap();
    let gone = house.post(&format!("/api/v1/nodes/{OTHER}/drain"), "").await;
    assert_eq!(gone.verdict(), "409 OPERATION_NOT_ALLOWED");
    assert_eq!(gone.json()["deniedOperations"], json!({"drain": "NODE_GONE"}));
    assert_eq!(node(&house, OTHER).await["allowedOperations"], json!([]));
    for unknown in ["000000000000002b", "42", "elsewhere%231"] {
        let answer = house.post(&format!("/api/v1/nodes/{unknown}/drain"), "").await;
        assert_eq!(answer.verdict(), "404 NODE_NOT_FOUND", "{unknown}");
    }
    let wrong = house.post(&format!("/api/v1/nodes/{OTHER}/drain"), r#"{"why":"x"}"#).await;
    assert_eq!(wrong.verdict(), "422 VALIDATION why:UNKNOWN_FIELD");
}

#[tokio::test]
async fn an_attempt_names_the_host_only_where_it_is_certain() {
    let house = house().await;
    let id = house.submit(r#"{"task":"done"}"#).await;
    house.until_status(&id, "SUCCESS").await;
    let attempts = format!("/api/v1/jobs/{id}/attempts");
    let number = house.engine.health().await.node.number;
    let shown = async || house.get(&attempts).await.json()["items"][0]["node"].clone();
    assert_eq!(shown().await, format!("localhost#{number}"));
    // The number goes to another host: from the number alone nobody can tell whose the attempt was.
    house.engine.stop(std::time::Duration::ZERO).await;
    assert_eq!(join(&house, 42, "elsewhere").await, number);
    assert_eq!(shown().await, format!("#{number}"));
}

/// As the engine makes it for one node; found by the claimer.
async fn part(house: &House, shard: Shard) -> String {
    let now = house.engine.clock().now();
    let id = JobIds::new(1_000).next(now);
    let job = NewJob {
        id,
        task: "done".parse().unwrap(),
        biz_id: None,
        unique: Unique::Always,
        payload: None,
        execute_time: now,
        priority: Priority::Normal,
        max_retry: 0,
        timeout_ms: None,
        pool: PoolName::default_pool(),
        trigger: Trigger::Submit,
        fires: None,
        create_time: now,
        claim: false,
        on_live: OnLive::Join,
        concurrency_key: None,
        serial: false,
        shard: Some(shard),
    };
    let owner = house.engine.health().await.node.incarnation;
    house.engine.store().submit(owner, vec![job]).await.unwrap();
    id.to_string()
}

#[tokio::test]
async fn a_part_of_a_broadcast_says_which_it_is() {
    let house = house().await;
    let id = house.submit(r#"{"task":"done"}"#).await;
    let job = house.until_status(&id, "SUCCESS").await;
    assert_eq!(job.get("shard"), None, "{job}");
    let part = part(&house, Shard { index: 1, total: 3 }).await;
    let job = house.until_status(&part, "SUCCESS").await;
    assert_eq!(job["shard"], json!({"index": 1, "total": 3}));
    let attempts = house.get(&format!("/api/v1/jobs/{part}/attempts")).await.json();
    assert_eq!(attempts["items"][0]["shard"], json!({"index": 1, "total": 3}));
    let attempt = house.get(&format!("/api/v1/attempts/{part}-1")).await.json();
    assert_eq!(attempt["shard"], json!({"index": 1, "total": 3}));
}

#[tokio::test]
async fn readiness_says_which_node_answers_and_what_its_database_can_bear() {
    let house = house().await;
    let ready = house.get("/readyz").await.json();
    let node = house.engine.health().await.node;
    let expect =
        json!({"id": node.incarnation.to_string(), "name": node.name, "number": node.number, "state": "ACTIVE"});
    assert_eq!(ready["node"], expect);
    let durability = (&ready["durability"], &ready["weakSettings"]);
    assert_eq!(durability, (&json!("relaxed"), &json!(["the database is in memory"])));
    house.engine.stop(std::time::Duration::ZERO).await;
    assert_eq!(house.get("/readyz").await.json()["node"]["state"], "DRAINING");
}
