//! The document says what the handlers do.

use serde_json::{Map, Value, json};

use crate::house::house;

fn document() -> Value {
    serde_json::from_str(&mainspring_server::document()).unwrap()
}

#[test]
fn the_document_in_the_repository_is_the_generated_one() {
    let kept = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json"));
    assert!(
        kept.is_ok_and(|kept| kept == mainspring_server::document()),
        "docs/openapi.json is not what the handlers say. If the change is meant, run\n  \
         cargo run -p mainspring-server --example openapi > docs/openapi.json\n\
         (`cargo xtask codegen` does it too) and look at the difference."
    );
}

#[test]
fn every_operation_is_described() {
    let document = document();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let place = format!("{method} {path}");
            assert!(operation["summary"].is_string(), "{place} has no summary");
            assert!(operation["tags"][0].is_string(), "{place} has no tag");
            let responses = operation["responses"].as_object().unwrap();
            assert!(responses.keys().any(|status| status.starts_with('2')), "{place} never succeeds");
            if path.starts_with("/api") {
                for status in ["403", "422", "500", "503"] {
                    assert!(responses.contains_key(status), "{place} does not tell of {status}");
                }
            }
            let holes = path.matches('{').count();
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let described = parameters.iter().filter(|parameter| parameter["in"] == "path").count();
            assert_eq!(holes, described, "{place}");
        }
    }
}

/// The properties of a shape, through references and compositions.
fn properties(document: &Value, schema: &Value, found: &mut Map<String, Value>) {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        properties(document, &document["components"]["schemas"][name], found);
    }
    for part in ["allOf", "oneOf"].iter().flat_map(|key| schema[*key].as_array().cloned().unwrap_or_default()) {
        properties(document, &part, found);
    }
    found.extend(schema["properties"].as_object().cloned().unwrap_or_default());
}

#[tokio::test]
async fn every_documented_field_and_parameter_is_known_to_the_handlers() {
    let (house, document) = (house().await, document());
    for (path, item) in document["paths"].as_object().unwrap() {
        let place = path.replace("{code}", "done").replace("{id}", "1").replace("{name}", "default");
        let place = if path.contains("/attempts/{id}") { path.replace("{id}", "1-1") } else { place };
        for (method, operation) in item.as_object().unwrap() {
            let mut fields = Map::new();
            properties(&document, &operation["requestBody"]["content"]["application/json"]["schema"], &mut fields);
            // A wrong type for all: each is complained of by name, none as unknown.
            let body: Map<String, Value> = fields.keys().map(|name| (name.clone(), json!({"no": 1}))).collect();
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let query = parameters.iter().filter(|parameter| parameter["in"] == "query");
            let query: Vec<String> = query.map(|one| format!("{}=%00", one["name"].as_str().unwrap())).collect();
            let target = format!("{place}?{}", query.join("&"));
            let target = if query.is_empty() { place.clone() } else { target };
            let body = if fields.is_empty() { String::new() } else { Value::Object(body).to_string() };
            let answer = house.call(&method.to_uppercase(), &target, body).await;
            let unknown = answer.text.contains("UNKNOWN_FIELD") || answer.text.contains("UNKNOWN_PARAMETER");
            assert!(!unknown, "{method} {path}: {}", answer.text);
            if !query.is_empty() {
                assert_eq!(answer.status, 422, "{method} {target}: parameters are not read: {}", answer.text);
            }
        }
    }
}

#[tokio::test]
async fn a_read_task_names_what_it_can_write() {
    let (house, document) = (house().await, document());
    let task = house.get("/api/v1/tasks/done").await.json();
    let mut shape = Map::new();
    properties(&document, &json!({"$ref": "#/components/schemas/Task"}), &mut shape);
    for name in task.as_object().unwrap().keys() {
        assert!(shape.contains_key(name), "{name} is answered, but not described");
    }
    let mut whole = Map::new();
    properties(&document, &json!({"$ref": "#/components/schemas/WholeTask"}), &mut whole);
    let body: Map<String, Value> = whole.keys().map(|name| (name.clone(), task[name].clone())).collect();
    let answer = house.call("PUT", "/api/v1/tasks/done", Value::Object(body).to_string()).await;
    assert_eq!(answer.verdict(), "200", "what was read can be written back");
}

#[tokio::test]
async fn a_conflict_tells_of_every_field_that_can_be_written() {
    let (house, document) = (house().await, document());
    let mut whole = Map::new();
    properties(&document, &json!({"$ref": "#/components/schemas/WholeTask"}), &mut whole);
    let other = json!({
        "code": "other", "handler": "test.held", "name": "x", "type": "cron", "cronExpression": "0 0 1 1 *",
        "timeZone": "Asia/Shanghai", "startAt": "2027-01-01T00:00:00Z", "endAt": "2099-01-01T00:00:00Z",
        "calendar": "cn", "param": [1], "timeoutSeconds": 1, "failStrategy": "STOP", "retryCount": 1,
        "retryBase": "2s", "retryCap": "3s", "pool": "paused", "priority": "high", "overlap": "REPLACE",
        "maxRunning": 2, "concurrencyKey": "/a", "rateLimit": "1/s", "misfire": "SKIP", "misfireGraceSeconds": 1,
        "maxCatchup": 1, "startDeadlineSeconds": 1, "onLost": "FAIL", "owner": "x", "tags": ["x"], "description": "x",
        "nodeLabels": ["x"],
    });
    assert_eq!(house.call("PUT", "/api/v1/calendars/cn", "{}").await.verdict(), "200");
    let answer = house.post("/api/v1/tasks", other.to_string()).await;
    assert_eq!(answer.verdict(), "201", "{answer:?}");
    // A broadcast excludes limits of the other side, so it stands on this one.
    let yours = r#"{"version":0,"handler":"test.done","broadcast":true}"#;
    let late = house.call("PUT", "/api/v1/tasks/other", yours).await.json();
    let told = late["differences"].as_array().unwrap().iter().map(|one| one["field"].as_str().unwrap());
    let told: std::collections::BTreeSet<&str> = told.collect();
    // An interval excludes an expression.
    let left_out = ["version", "every", "everyRhythm"];
    let expect = whole.keys().map(String::as_str).filter(|name| !left_out.contains(name)).collect();
    assert_eq!(told, expect);
}

#[tokio::test]
async fn the_page_lists_every_operation_and_code_without_scripts() {
    let house = house().await;
    let page = house.get("/docs").await;
    assert!(page.headers["content-type"].to_str().unwrap().starts_with("text/html"));
    assert!(!page.text.contains("<script") && !page.text.contains("http://") && !page.text.contains("https://"));
    for path in document()["paths"].as_object().unwrap().keys() {
        assert!(page.text.contains(&format!("<code>{path}</code>")), "{path}");
    }
    for (code, _, _) in mainspring_server::problem::all_codes() {
        assert!(page.text.contains(&format!("id=\"{code}\"")), "{code}");
    }
    assert_eq!(house.get("/docs/style.css").await.headers["content-type"], "text/css; charset=utf-8");
    let served = house.get("/openapi.json").await;
    assert_eq!(served.json(), document());
}
