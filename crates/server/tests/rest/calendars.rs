//! Calendars and the tasks that go by them.

use serde_json::json;

use crate::house::house_at;

#[tokio::test]
async fn a_calendar_is_kept_and_followed() {
    let house = house_at("2026-09-30T12:00:00Z").await;
    let body =
        json!({"description": "National days", "excluded": ["2026-10-01/2026-10-07"], "working": ["2026-10-10"]});
    let put = house.call("PUT", "/api/v1/calendars/cn", body.to_string()).await;
    assert_eq!(put.status, 200, "{put:?}");
    assert_eq!(put.json()["excluded"].as_array().unwrap().len(), 7);
    let task = json!({"code": "report", "handler": "test.done", "type": "cron", "cronExpression": "0 9 * * MON-FRI",
                      "timeZone": "Asia/Shanghai", "calendar": "cn"});
    assert_eq!(house.post("/api/v1/tasks", task.to_string()).await.status, 201);
    let fires = house.get("/api/v1/tasks/report/next-fires?count=4").await.json();
    let expect = ["08", "09", "10", "12"].map(|day| format!("2026-10-{day}T09:00:00+08:00"));
    assert_eq!(fires["nextFires"], json!(expect));

    let shown = house.get("/api/v1/calendars/cn").await.json();
    assert_eq!(
        (&shown["name"], &shown["tasks"], &shown["working"]),
        (&json!("cn"), &json!(["report"]), &json!(["2026-10-10"]))
    );
    assert_eq!(house.get("/api/v1/calendars").await.json()["items"], json!([shown]));
    assert_eq!(house.call("DELETE", "/api/v1/calendars/cn", "").await.verdict(), "409 CALENDAR_IN_USE");

    // Its tasks follow at once.
    assert_eq!(house.call("PUT", "/api/v1/calendars/cn", "{}").await.json()["excluded"], json!([]));
    assert_eq!(house.task("report").await["nextFireTime"], "2026-10-01T01:00:00.000Z");
    assert_eq!(house.call("DELETE", "/api/v1/tasks/report", "").await.status, 204);
    assert_eq!(house.call("DELETE", "/api/v1/calendars/cn", "").await.status, 204);
    assert_eq!(house.call("DELETE", "/api/v1/calendars/cn", "").await.verdict(), "404 CALENDAR_NOT_FOUND");
    assert_eq!(house.get("/api/v1/calendars/cn").await.verdict(), "404 CALENDAR_NOT_FOUND");
}

#[tokio::test]
async fn tasks_that_a_calendar_ends_are_named() {
    let house = house_at("2026-09-30T12:00:00Z").await;
    let put = async |body: &'static str| house.call("PUT", "/api/v1/calendars/cn", body).await.json()["ended"].clone();
    assert_eq!(put("{}").await, json!([]));
    for (code, end, enabled) in
        [("ends", "2026-10-03", true), ("off", "2026-10-03", false), ("goes-on", "2026-11-01", true)]
    {
        let task = json!({"code": code, "handler": "test.done", "cronExpression": "@daily", "calendar": "cn",
                          "endAt": format!("{end}T00:00:00Z"), "enabled": enabled});
        assert_eq!(house.post("/api/v1/tasks", task.to_string()).await.status, 201);
    }
    let days = r#"{"excluded":["2026-10-01/2026-10-07"]}"#;
    assert_eq!(put(days).await, json!(["ends", "off"]));
    assert_eq!(house.task("ends").await["status"], "COMPLETED");
    assert_eq!(put(days).await, json!([]), "it had none before");
    assert!(house.get("/api/v1/calendars/cn").await.json().get("ended").is_none());
}

#[tokio::test]
async fn calendars_are_checked() {
    let house = house_at("2026-09-30T12:00:00Z").await;
    let cases = [
        (r#"{"excluded":["2026-13-01"]}"#, "422 VALIDATION excluded:NOT_A_DAY"),
        (r#"{"working":["2026-10-07/2026-10-01"]}"#, "422 VALIDATION working:OUT_OF_RANGE"),
        (r#"{"excluded":["1900-01-01/2900-01-01"]}"#, "422 VALIDATION excluded:TOO_MANY"),
        (r#"{"excluded":["2000-01-01/2005-01-01","2010-01-01/2019-01-01"]}"#, "422 VALIDATION excluded:TOO_MANY"),
        (r#"{"excluded":"2026-10-01"}"#, "422 VALIDATION excluded:WRONG_TYPE"),
        (r#"{"exclude":[]}"#, "422 VALIDATION exclude:UNKNOWN_FIELD"),
    ];
    for (body, expect) in cases {
        assert_eq!(house.call("PUT", "/api/v1/calendars/cn", body).await.verdict(), expect, "{body}");
    }
    assert_eq!(house.call("PUT", "/api/v1/calendars/c%20n", "{}").await.verdict(), "404 CALENDAR_NOT_FOUND");
}
