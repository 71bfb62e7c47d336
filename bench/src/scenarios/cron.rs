//! Cron: the next fire of usual and rare schedules beside croner, and the texts that take longest.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use chrono::{DateTime, TimeZone, Utc};
use croner::parser::CronParser;
use fastrand::Rng;
use mainspring_model::Timestamp;
use mainspring_model::cron::{Cron, Zone};

use crate::figures::Figures;
use crate::window::Window;

/// Name, our text, croner's text for the same.
const SCHEDULES: [(&str, &str, &str); 5] = [
    ("minute", "* * * * *", "* * * * *"),
    ("daily", "30 2 * * *", "30 2 * * *"),
    ("leap", "0 0 29 2 */7", "0 0 * 2 SUN#5"),
    ("special", "0 18 LW,15W * *", "0 18 LW,15W * *"),
    ("quartz", "15,45 */10 8-18 ? * MON-FRI 2020-2060", "15,45 */10 8-18 * * MON-FRI 2020-2060"),
];
const IMPOSSIBLE: [&str; 7] = [
    "0 0 30 2 *",
    "0 0 31 2,4,6,9,11 *",
    "0 0 30 2 */7",
    "* * * L-30 2,4,6,9,11 ?",
    "0 0 0 30W,31W,L-29,L-29W 2 ?",
    "0 0 0 29 2 ? 2097-2099",
    "0 0 0 29 2 ? 1970-2099/128",
];
const EACH: Duration = Duration::from_millis(300);
const TEXTS: usize = 50_000;
/// 2026-01-01.
const START_S: i64 = 1_767_225_600;

pub(super) fn schedules() -> Result<Figures> {
    let mut figures = Figures::default();
    let window = Window::open(&[])?;
    for (name, ours, theirs) in SCHEDULES {
        for (zone_name, zone) in [("utc", "UTC"), ("new_york", "America/New_York")] {
            let (cron, at) = (Cron::parse(ours)?, Zone::parse(zone)?);
            let ours_ns = chain_ns(|second| Some(cron.next(&at, Timestamp::from_ms(second * 1_000))?.as_ms() / 1_000));
            let other = CronParser::builder().build().parse(theirs).with_context(|| theirs.to_owned())?;
            let theirs_ns = match zone {
                "UTC" => chain_ns(|second| croner_next(&other, &Utc, second)),
                _ => chain_ns(|second| croner_next(&other, &chrono_tz::America::New_York, second)),
            };
            figures.set(&format!("{name}_{zone_name}_ns"), ours_ns);
            figures.set(&format!("{name}_{zone_name}_croner"), theirs_ns / ours_ns);
        }
    }
    figures.set("impossible_us", slowest_us(IMPOSSIBLE.iter().map(|text| (*text).to_owned())));
    let mut rng = Rng::with_seed(1);
    figures.set("text_us", slowest_us((0..TEXTS).map(|_| garbage(&mut rng))));
    figures.set(
        "read_ns",
        chain_ns(|second| black_box(Cron::parse(black_box("*/10 9-18 * * MON-FRI"))).ok().map(|_| second + 1)),
    );
    window.close()?.tell(&mut figures);
    Ok(figures)
}

/// Every fire is the start of the next search; at the end it begins anew.
fn chain_ns(next: impl Fn(i64) -> Option<i64>) -> f64 {
    let (mut second, mut searches) = (START_S, 0_u32);
    let began = Instant::now();
    loop {
        for _ in 0..64 {
            second = black_box(next(black_box(second))).unwrap_or(START_S);
        }
        searches += 64;
        let spent = began.elapsed();
        if spent >= EACH {
            return spent.as_secs_f64() * 1e9 / f64::from(searches);
        }
    }
}

fn croner_next<Z: TimeZone>(cron: &croner::Cron, zone: &Z, second: i64) -> Option<i64> {
    let start: DateTime<Z> = zone.timestamp_opt(second, 0).single()?;
    cron.find_next_occurrence(&start, false).ok().map(|fire| fire.timestamp())
}

/// The text that takes longest to be read and, where it can be, searched from the beginning of time. Of five goes the
/// middle one counts: others use the machine, too.
fn slowest_us(texts: impl Iterator<Item = String>) -> f64 {
    let zone = Zone::parse("America/New_York").ok();
    let once = |text: &str| {
        let began = Instant::now();
        if let (Ok(cron), Some(zone)) = (Cron::parse(black_box(text)), &zone) {
            black_box(cron.next(zone, Timestamp::from_ms(0)));
        }
        began.elapsed()
    };
    let middle = |text: String| {
        let mut goes: Vec<Duration> = (0..5).map(|_| once(&text)).collect();
        goes.sort_unstable();
        goes[2]
    };
    texts.map(middle).max().unwrap_or_default().as_secs_f64() * 1e6
}

/// From noise to what is nearly an expression, up to beyond the longest that is read.
fn garbage(rng: &mut Rng) -> String {
    const PIECES: [&str; 24] = [
        "*", "*/", "/", ",", "-", " ", " ", " ", "?", "L", "W", "LW", "#", "0", "1", "2", "5", "31", "59", "MON",
        "FEB", "@", "2099", "＊",
    ];
    let characters = rng.usize(..300);
    match rng.u8(..4) {
        0 => (0..characters).map(|_| rng.char(..)).collect(),
        1 => (0..characters).map(|_| char::from(rng.u8(b' '..=b'~'))).collect(),
        2 => (0..characters / 2).map(|_| PIECES[rng.usize(..PIECES.len())]).collect(),
        _ => {
            let mut list = |min: u32, max: u32| {
                let items: Vec<String> = (0..rng.usize(1..16)).map(|_| rng.u32(min..=max).to_string()).collect();
                items.join(",")
            };
            format!("{} {} {} {} {}", list(0, 59), list(0, 23), list(29, 31), list(2, 2), list(0, 7))
        }
    }
}
