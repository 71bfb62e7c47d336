//! When a task fires next, and fire times of the past.

use mainspring_model::calendar::day;
use serde_json::Value;

use crate::args::Format;
use crate::client::{Client, Query};
use crate::cmd::query;
use crate::failure::Failure;
use crate::print;

pub(super) const SHOWN_WITH_A_TASK: u32 = 5;

pub(super) async fn show(code: &str, count: u32, client: &Client, format: Format) -> Result<(), Failure> {
    let parameters = query(&[("count", Some(count.to_string()))]);
    let fires = client.get(&["tasks", code, "next-fires"], parameters).await?;
    if format == Format::Json {
        return print::json(&fires);
    }
    let has_none = fires["nextFires"].as_array().is_none_or(Vec::is_empty);
    if has_none && client.get(&["tasks", code], Query::new()).await?["type"] != "cron" {
        let hint = format!("`mainspring task edit {code} --cron EXPR` or --every SPAN gives it one");
        return print::out(&format!("task {code} has no schedule: {hint}\n"));
    }
    print::out(&told(&fires))
}

fn told(fires: &Value) -> String {
    let text = |field: &str| fires[field].as_str().unwrap_or_default().to_owned();
    let times = fires["nextFires"].as_array().map(Vec::as_slice).unwrap_or_default();
    let heading = match (text("status").as_str(), times.is_empty()) {
        ("DISABLED", false) => format!("it is disabled; if it were enabled it would fire ({})", text("timeZone")),
        ("COMPLETED", _) => "its schedule has no fire time left".to_owned(),
        (_, true) => "no fire time is known".to_owned(),
        (_, false) => format!("next fires ({})", text("timeZone")),
    };
    let lines = times.iter().filter_map(Value::as_str).map(|time| format!("  {}{time}\n", weekday(time)));
    format!("{heading}\n{}", lines.collect::<String>())
}

/// People plan by it.
fn weekday(time: &str) -> String {
    let date = time.split('T').next().unwrap_or_default();
    day(date).map_or_else(|_| String::new(), |day| format!("{:.3} ", format!("{:?}", day.weekday())))
}

pub(super) async fn backfill(code: &str, body: &Value, client: &Client, format: Format) -> Result<(), Failure> {
    let answer = client.post(&["tasks", code, "backfill"], body).await?;
    if format == Format::Json {
        return print::json(&answer);
    }
    let is_dry = body["dryRun"] == true;
    let count = |member: &str| answer[member].as_array().map_or(0, Vec::len);
    let list = serde_json::json!({ "items": answer["fires"] });
    if count("fires") > 0 {
        let columns: &[&str] = if is_dry { &["fireTime"] } else { &["fireTime", "job"] };
        print::list(format, &list, columns)?;
    }
    let verb = if is_dry { "would run" } else { "run" };
    let before = match count("ranBefore") {
        0 => String::new(),
        ran => format!("; {ran} have run before"),
    };
    let again = if answer["duplicate"] == true { " (was asked for before)" } else { "" };
    print::out(&format!("{} fire times {verb}{before}{again}\n", count("fires")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fires_are_told_by_the_state_of_their_task() {
        let check = |status: &str, times: &[&str], expect: &str| {
            let fires = json!({"status": status, "timeZone": "UTC", "nextFires": times});
            assert_eq!(told(&fires), expect, "{status}");
        };
        let (wednesday, thursday) = ("2026-12-02T06:30:00+08:00", "2026-12-03T06:30:00+08:00");
        let expect = format!("next fires (UTC)\n  Wed {wednesday}\n  Thu {thursday}\n");
        check("ENABLED", &[wednesday, thursday], &expect);
        check("RUNNING", &[], "no fire time is known\n");
        check("DISABLED", &["a"], "it is disabled; if it were enabled it would fire (UTC)\n  a\n");
        check("COMPLETED", &[], "its schedule has no fire time left\n");
    }
}
