//! Calendars: named lists of days, each kept as the text that people write.

use std::collections::BTreeSet;

use mainspring_model::calendar::{Calendar, day};
use mainspring_model::{CalendarName, Refused, TaskCode};
use rusqlite::{Connection, params};

use super::decode::{Columns, readable};
use super::fault::{Fault, Outcome};
use super::settle::write_audit;
use super::sql;
use super::tasks::By;
use crate::CalendarDeletion;

pub(super) fn calendars(conn: &Connection) -> Outcome<Vec<Calendar>> {
    let mut statement = conn.prepare_cached(sql::CALENDARS)?;
    readable(&mut statement.query([])?, |row| {
        let mut c = Columns::of(row);
        Ok(Calendar {
            name: CalendarName::stored(c.text()?),
            description: c.take()?,
            excluded: days(c.text()?, day)?,
            working: days(c.text()?, day)?,
        })
    })
}

pub(super) fn put(conn: &Connection, calendar: &Calendar, by: &By) -> Outcome<()> {
    let (excluded, working) = (text(&calendar.excluded), text(&calendar.working));
    let row = params![calendar.name.as_str(), calendar.description, excluded, working];
    conn.prepare_cached(sql::CALENDAR_PUT)?.execute(row)?;
    let (excluded, working) = (calendar.excluded.len(), calendar.working.len());
    let detail = format!("{excluded} days excluded, {working} made up");
    write_audit(conn, by.now, &by.who, "set", &object(&calendar.name), &detail)
}

pub(super) fn delete(conn: &Connection, name: &CalendarName, by: &By) -> Outcome<CalendarDeletion> {
    let mut users = conn.prepare_cached(sql::CALENDAR_USERS)?;
    let users: Vec<String> = users.query_map([name.as_str()], |row| row.get(0))?.collect::<Result<_, _>>()?;
    if let Some(first) = users.first() {
        return Ok(CalendarDeletion::NamedBy { first: TaskCode::stored(first), tasks: users.len() as u64 });
    }
    if conn.prepare_cached(sql::CALENDAR_DELETE)?.execute([name.as_str()])? == 0 {
        return Ok(CalendarDeletion::Missing);
    }
    write_audit(conn, by.now, &by.who, "delete", &object(name), "")?;
    Ok(CalendarDeletion::Deleted)
}

fn object(name: &CalendarName) -> String {
    format!("calendar:{name}")
}

/// `2026-10-01,2026-10-02`
fn text<D: ToString>(days: &BTreeSet<D>) -> String {
    days.iter().map(D::to_string).collect::<Vec<_>>().join(",")
}

fn days<D: Ord>(text: &str, day: impl Fn(&str) -> Result<D, Refused>) -> Outcome<BTreeSet<D>> {
    let days = text.split(',').filter(|day| !day.is_empty()).map(day);
    days.collect::<Result<_, _>>().map_err(|refused| Fault::Row(refused.detail))
}
