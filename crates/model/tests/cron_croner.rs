//! A second opinion where the rules agree: plain crontab expressions in UTC.

use std::str::FromStr;

use fastrand::Rng;
use mainspring_model::Timestamp;
use mainspring_model::cron::{Cron, Zone};

/// Without what croner reads in its own way: stars in lists, `*/n` beside another day field, 7 as the end of a week.
fn expression(rng: &mut Rng) -> String {
    let mut field = |min: u32, max: u32| match rng.u8(..6) {
        0 => rng.u32(min..=max).to_string(),
        1 => format!("*/{}", rng.u32(1..=max.min(31))),
        2 => format!("{},{}", rng.u32(min..=max), rng.u32(min..=max)),
        3 => {
            let first = rng.u32(min..=max);
            let last = rng.u32(first..=max);
            format!("{first}-{last}/{}", rng.u32(1..=3))
        }
        _ => "*".to_owned(),
    };
    let (minute, hour, day, month, weekday) = (field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6));
    let stars = day.starts_with("*/") || weekday.starts_with("*/");
    let weekday = if stars && day != "*" { "*".to_owned() } else { weekday };
    format!("{minute} {hour} {day} {month} {weekday}")
}

#[test]
fn croner_finds_the_same_fires() {
    let mut rng = Rng::with_seed(4);
    let mut compared = 0;
    for _ in 0..1_000 {
        let text = expression(&mut rng);
        let (cron, theirs) = (Cron::parse(&text).expect(&text), croner::Cron::from_str(&text).expect(&text));
        let mut after = rng.i64(0..4_000_000_000);
        for _ in 0..5 {
            let seen = cron.next(&Zone::utc(), Timestamp::from_ms(after * 1_000)).map(|fire| fire.as_ms() / 1_000);
            let Some(second) = seen else { break };
            let start = chrono::DateTime::from_timestamp(after, 0).expect("in range");
            let found = theirs.find_next_occurrence(&start, false).map(|fire| fire.timestamp());
            assert_eq!(found.ok(), Some(second), "{text} after {start}");
            after = second;
            compared += 1;
        }
    }
    assert!(compared > 4_000, "{compared}");
}
