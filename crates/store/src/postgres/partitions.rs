//! A partition for each day of both tables, made before its first job comes.
//!
//! **Invariants:** a day is made in one transaction, of both tables or of none; one node at a time makes any. The table is
//! complete before it is attached, and waits for no lock longer than `LOCK_MAX_MS`, so nobody waits for it longer than that
//! either. A day of which the default partition holds rows is not split off: they stay there, and are found there.

use std::collections::BTreeSet;

use crate::server::days::Day;
use crate::server::fault::Outcome;
use crate::server::params::params;
use crate::server::session::Session;
use crate::server::sql;

/// Days made at one time, today among them.
const AHEAD_DAYS: i64 = 14;
/// When fewer are left, more are made: a node that cannot make them has this long to be seen to.
const LEFT_DAYS: i64 = 7;
/// Whoever changes a partitioned table waits for all who read it, and all who come later wait for him.
const LOCK_MAX_MS: i64 = 100;
/// Attaching looks through the default partition, which is next to empty.
const STATEMENT_MAX_MS: i64 = 2_000;

const TABLES: [&str; 2] = ["async_task", "task_execution_log"];

/// What a node does while another one makes partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    Wait,
    /// It is seen to.
    Pass,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    Yes,
    ByAnother,
    /// The default partition has rows of that day.
    InDefault,
}

pub(crate) async fn attached(session: &mut Session) -> Outcome<BTreeSet<Day>> {
    let rows = session.rows(&sql::PARTITIONS, &[]).await?;
    let words = rows.iter().map(|row| row.text(0)).collect::<Outcome<Vec<_>>>()?;
    Ok(words.into_iter().flatten().filter_map(Day::from_word).collect())
}

/// Those to be made now.
pub(crate) fn missing(there: &BTreeSet<Day>, today: Day) -> Vec<Day> {
    let of = |days: i64| (0..days).map(|n| today.plus(n)).filter(|day| !there.contains(day));
    if of(LEFT_DAYS).next().is_none() { Vec::new() } else { of(AHEAD_DAYS).collect() }
}

/// Within a transaction of its own.
pub(crate) async fn make(session: &mut Session, day: Day, turn: Turn) -> Outcome<Made> {
    match turn {
        Turn::Wait => drop(session.rows(&sql::PARTITION_LOCK, &[]).await?),
        Turn::Pass if !session.exists(&sql::PARTITION_TRY_LOCK, &[]).await? => return Ok(Made::ByAnother),
        Turn::Pass => {}
    }
    let (first, end) = (day.first_id(), day.plus(1).first_id());
    if session.exists(&sql::DEFAULT_HOLDS, &params![first, end]).await? {
        return Ok(Made::InDefault);
    }
    let bounds = format!("SET LOCAL lock_timeout = {LOCK_MAX_MS}; SET LOCAL statement_timeout = {STATEMENT_MAX_MS}");
    session.command(&bounds).await?;
    for table in TABLES {
        let name = format!("{table}_{}", day.word());
        // A table of that name that is no partition was left by somebody who was interrupted.
        if session.exists(&sql::PARTITION_ATTACHED, &params![&name]).await? {
            continue;
        }
        let default = format!("{table}_default");
        let options = match session.one(&sql::PARTITION_OPTIONS, &params![&default]).await? {
            Some(row) => row.text(0)?.map(|options| format!(" WITH ({options})")).unwrap_or_default(),
            None => String::new(),
        };
        let text = format!(
            "CREATE TABLE IF NOT EXISTS {name} (LIKE {table} INCLUDING ALL){options};
             ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ({first}) TO ({end})"
        );
        session.command(&text).await?;
    }
    Ok(Made::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_are_made_when_fewer_than_a_week_is_left() {
        let today = Day::from_word("20261201").expect("a day");
        let until = |days: i64| (0..days).map(|n| today.plus(n)).collect::<BTreeSet<_>>();
        let check = |there: &BTreeSet<Day>, expect: &[i64]| {
            let expect: Vec<_> = expect.iter().map(|n| today.plus(*n)).collect();
            assert_eq!(missing(there, today), expect);
        };
        check(&until(0), &(0..14).collect::<Vec<_>>());
        check(&until(7), &[]);
        check(&until(6), &(6..14).collect::<Vec<_>>());
        let mut with_gap = until(14);
        with_gap.remove(&today.plus(2));
        check(&with_gap, &[2]);
    }
}
