//! Trying out cron expressions.

use serde_json::json;

use crate::house::house;

#[tokio::test]
async fn an_expression_is_previewed() {
    let house = house().await;
    let body =
        json!({"expression": "30 2 * * *", "timeZone": "Europe/Berlin", "from": "2026-03-28T12:00:00Z", "count": 2});
    let answer = house.post("/api/v1/cron/preview", body.to_string()).await.json();
    assert_eq!(
        answer,
        json!({
            "dialect": "crontab",
            "description": {"en": "at 02:30, every day", "zh": "每天，02:30"},
            "nextFires": ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"],
            "warnings": [{
                "code": "IN_DST_GAP",
                "detail": "the clocks jump forward to 2026-03-29T03:00:00+02:00 over a time of this schedule: it fires \
                           once at that instant instead",
            }],
        })
    );
    let plain = house.post("/api/v1/cron/preview", r#"{"expression":"0 0 2 * * ?"}"#).await.json();
    assert_eq!((&plain["dialect"], plain["nextFires"].as_array().unwrap().len()), (&json!("quartz"), 5));
    let early = r#"{"expression":"0 0 0 1 1 ?","from":"1969-12-31T23:59:59.9Z","count":1}"#;
    let early = house.post("/api/v1/cron/preview", early).await.json();
    assert_eq!(early["nextFires"], json!(["1970-01-01T00:00:00+00:00"]));
    let never = house.post("/api/v1/cron/preview", r#"{"expression":"0 0 30 2 *"}"#).await.json();
    assert_eq!(never["nextFires"], json!([]), "shown, not refused");
}

#[tokio::test]
async fn a_wrong_expression_is_refused_with_its_place() {
    let house = house().await;
    let answer = house.post("/api/v1/cron/preview", r#"{"expression":"0 0 ＊ * *"}"#).await;
    assert_eq!(answer.verdict(), "422 CRON_INVALID expression:CHARSET");
    let problem = answer.json();
    assert_eq!((&problem["class"], problem.get("field"), &problem["position"]), (&json!("CHARSET"), None, &json!(5)));
    assert_eq!(problem["errors"][0]["field"], "expression");
    assert_eq!(problem["hint"], "it is the full-width form: write *");

    let answer = house.post("/api/v1/cron/preview", r#"{"expression":"0 0 9 * * 1"}"#).await.json();
    assert_eq!(
        (&answer["class"], &answer["field"], &answer["position"]),
        (&json!("DOM_DOW"), &json!("dayOfWeek"), &json!(11))
    );
    let answer = house.post("/api/v1/cron/preview", r#"{"expression":"* * * * *","timeZone":"GMT+8"}"#).await.json();
    assert_eq!((&answer["code"], &answer["class"]), (&json!("CRON_INVALID"), &json!("ZONE")));
    assert_eq!(answer["errors"][0]["field"], "timeZone");

    for body in [
        "{}",
        r#"{"expression":5}"#,
        r#"{"expression":"* * * * *","count":0}"#,
        r#"{"expression":"* * * * *","count":101}"#,
        r#"{"expression":"* * * * *","from":"tomorrow"}"#,
        r#"{"expression":"* * * * *","tz":"UTC"}"#,
    ] {
        let verdict = house.post("/api/v1/cron/preview", body).await.verdict();
        assert!(verdict.starts_with("422 VALIDATION "), "{body}: {verdict}");
    }
}
