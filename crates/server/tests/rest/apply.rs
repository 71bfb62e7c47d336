//! Tasks that are declared together.

use serde_json::{Value, json};

use crate::house::{House, house};

async fn apply(house: &House, tasks: Value) -> Value {
    let answer = house.post("/api/v1/tasks/apply", json!({ "tasks": tasks }).to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn changes(answer: &Value) -> Vec<String> {
    let results = answer["results"].as_array().unwrap().iter();
    let shown = |result: &Value| {
        let fields = result["differences"].as_array().unwrap().iter();
        let fields = fields.map(|one| format!(" {}:{}>{}", one["field"].as_str().unwrap(), one["from"], one["to"]));
        let word = result["change"].as_str().or(result["error"]["code"].as_str()).unwrap();
        format!("{} {word}{}", result["code"].as_str().unwrap_or("?"), fields.collect::<String>())
    };
    results.map(shown).collect()
}

#[tokio::test]
async fn tasks_are_created_changed_and_left() {
    let house = house().await;
    let tasks = json!([
        {"code": "a", "handler": "test.done", "cronExpression": "@daily", "param": {"x": 1, "y": [1.0]}},
        {"code": "b", "handler": "test.done", "enabled": false},
    ]);
    let told = house.post("/api/v1/tasks/apply", json!({"tasks": tasks, "dryRun": true}).to_string()).await.json();
    let created = [
        r#"a CREATED type:null>"cron" handler:null>"test.done" cronExpression:null>"@daily" param:null>{"x":1,"y":[1.0]}"#,
        r#"b CREATED type:null>"async" handler:null>"test.done""#,
    ];
    assert_eq!(
        (changes(&told), &told["dryRun"], &told["failed"]),
        (created.map(str::to_owned).to_vec(), &json!(true), &json!(0))
    );
    assert_eq!(house.get("/api/v1/tasks/a").await.status, 404, "only told");

    let done = apply(&house, tasks.clone()).await;
    assert_eq!((changes(&done), &done["dryRun"]), (created.map(str::to_owned).to_vec(), &json!(false)));
    assert_eq!(house.task("b").await["status"], "DISABLED");
    assert_eq!(changes(&apply(&house, tasks).await), ["a UNCHANGED", "b UNCHANGED"]);

    // The switch is a person's; what is not said goes to its default.
    assert_eq!(house.post("/api/v1/tasks/b/enable", "").await.status, 200);
    let tasks = json!([
        {"code": "b", "handler": "test.done", "enabled": false, "owner": "ann"},
        {"code": "a", "handler": "test.done", "type": "cron", "cronExpression": "0 1 * * *", "param": {"y": [1.0], "x": 1}},
    ]);
    let expect = [r#"b UPDATED owner:null>"ann""#, r#"a UPDATED cronExpression:"@daily">"0 1 * * *""#];
    assert_eq!(changes(&apply(&house, tasks).await), expect);
    assert_eq!(house.task("b").await["status"], "ENABLED");
    let tasks = json!([{"code": "b", "handler": "test.done"}]);
    assert_eq!(changes(&apply(&house, tasks).await), [r#"b UPDATED owner:"ann">null"#]);
}

#[tokio::test]
async fn a_bad_entry_never_stops_the_others() {
    let house = house().await;
    let tasks = json!([
        {"code": "a b", "handler": "test.done"},
        {"code": "no-handler", "handler": "nobody"},
        {"code": "wrong", "handler": "test.done", "type": "cron", "cronExpression": "99 * * * *"},
        {"code": "never", "handler": "test.done", "type": "cron", "cronExpression": "0 0 30 2 *"},
        {"code": "good", "handler": "test.done"},
        {"code": "good", "handler": "test.done"},
        {"code": "pool", "handler": "test.done", "pool": "unknown"},
        7,
    ]);
    let expect = [
        "a b VALIDATION",
        "no-handler HANDLER_NOT_FOUND",
        "wrong CRON_INVALID",
        "never CRON_NEVER_FIRES",
        r#"good CREATED type:null>"async" handler:null>"test.done""#,
        "good VALIDATION",
        "pool POOL_NOT_FOUND",
        "? VALIDATION",
    ];
    let told = house.post("/api/v1/tasks/apply", json!({"tasks": tasks, "dryRun": true}).to_string()).await.json();
    assert_eq!((changes(&told).as_slice(), &told["failed"]), (expect.map(str::to_owned).as_slice(), &json!(7)), "told");
    let done = apply(&house, tasks).await;
    assert_eq!((changes(&done).as_slice(), &done["failed"]), (expect.map(str::to_owned).as_slice(), &json!(7)), "done");
    assert_eq!(done["results"][2]["error"]["position"], 1);
    assert_eq!(house.task("good").await["status"], "ENABLED");
}

#[tokio::test]
async fn declarations_as_a_whole_are_checked() {
    let house = house().await;
    let many = json!({"tasks": vec![json!({}); 1_001]}).to_string();
    let cases = [
        ("{}", "422 VALIDATION tasks:REQUIRED"),
        (r#"{"tasks":{}}"#, "422 VALIDATION tasks:WRONG_TYPE"),
        (r#"{"tasks":[],"dryrun":true}"#, "422 VALIDATION dryrun:UNKNOWN_FIELD"),
        (&many, "422 VALIDATION tasks:TOO_MANY"),
        (r#"{"tasks":[]}"#, "200"),
    ];
    for (body, expect) in cases {
        let answer = house.post("/api/v1/tasks/apply", body.to_owned()).await;
        assert_eq!(answer.verdict(), expect, "{}", mainspring_model::text::excerpt(body, 60));
    }
}
