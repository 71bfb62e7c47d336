//! One comparison of the search with the walk.

use fastrand::Rng;
use mainspring_model::Timestamp;
use mainspring_model::cron::{Cron, Zone};

use super::{Schedule, schedule, walk};

/// One window around a change of the clocks; what differs, in words.
pub(crate) fn difference(rng: &mut Rng, name: &str) -> Option<String> {
    let somewhere = rng.i64(0..4_070_908_800); // 1970 to 2098
    difference_behind(rng, name, somewhere)
}

/// The same around the first change after a second.
pub(crate) fn difference_behind(rng: &mut Rng, name: &str, somewhere: i64) -> Option<String> {
    let zone = walk::zone(name);
    let change = walk::change_after(&zone, somewhere).unwrap_or(somewhere).min(4_102_000_000);
    let near = walk::date((change - rng.i64(0..86_400)).div_euclid(86_400));
    let hour = zone.to_datetime(jiff::Timestamp::from_second(change - 1).expect("in range")).hour();
    let schedule = schedule(rng, near, hour.into());
    let cron = match Cron::parse(&schedule.text) {
        Ok(cron) => cron,
        Err(error) => return Some(format!("`{}` was refused: {error}", schedule.text)),
    };
    let by_seconds = schedule.seconds.len() > 1 || !schedule.seconds.contains(&0);
    let (back, ahead) = if by_seconds {
        (rng.i64(-4_000..7_000), 8_000)
    } else {
        (if rng.bool() { rng.i64(-7_000..7_000) } else { rng.i64(0..129_600) }, 100_000)
    };
    let after = (change - back).max(0);
    let until = change + ahead;
    let seen: Vec<i64> = cron
        .fires(&Zone::parse(name).expect(name), Timestamp::from_ms(after * 1_000 + rng.i64(0..1_000)))
        .map(|fire| fire.as_ms() / 1_000)
        .take_while(|second| *second <= until)
        .collect();
    let wanted = walk::fires(&schedule, &zone, after, until);
    let at = seen.iter().zip(&wanted).position(|(seen, wanted)| seen != wanted);
    let at = at.or((seen.len() != wanted.len()).then(|| seen.len().min(wanted.len())))?;
    let (seen, wanted) = (seen.get(at), wanted.get(at));
    Some(format!("`{}` in {name} after {after}: fire {at} is {seen:?}, wanted is {wanted:?}", schedule.text))
}

/// The next fire in UTC, found day by day, far from here or never; what differs, in words.
pub(crate) fn far_difference(rng: &mut Rng) -> Option<String> {
    let after = rng.i64(0..4_102_444_800); // 1970 to 2099
    let hour = rng.i32(0..24);
    let schedule = schedule(rng, walk::date(after.div_euclid(86_400)), hour);
    let cron = Cron::parse(&schedule.text).expect(&schedule.text);
    let seen = cron.next(&Zone::utc(), Timestamp::from_ms(after * 1_000)).map(|fire| fire.as_ms() / 1_000);
    let wanted = first_in_utc(&schedule, after, FAR_DAYS);
    let beyond = (after.div_euclid(86_400) + FAR_DAYS) * 86_400;
    let same = seen == wanted || (wanted.is_none() && seen.is_none_or(|seen| seen >= beyond));
    (!same).then(|| format!("`{}` after {after}: seen {seen:?}, wanted {wanted:?}", schedule.text))
}

/// Longer than any two leap days that fall on the same weekday lie apart.
const FAR_DAYS: i64 = 41 * 366;

/// The first fire after a second in UTC.
fn first_in_utc(schedule: &Schedule, after: i64, days: i64) -> Option<i64> {
    let today = after.div_euclid(86_400);
    (today..today + days).filter(|day| schedule.fits_date(walk::date(*day))).find_map(|day| {
        let begin = (day * 86_400).max(after + 1);
        (begin..(day + 1) * 86_400).find(|second| schedule.fits_time(second.rem_euclid(86_400)))
    })
}
