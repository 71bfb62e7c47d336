//! Calendars: named lists of days, each kept as the text that people write.

use std::collections::BTreeSet;

use mainspring_model::calendar::{Calendar, day};
use mainspring_model::{CalendarName, Refused, TaskCode};

use super::audit::{By, definition_changed, write_audit};
use super::decode::readable;
use super::fault::{Fault, Outcome};
use super::params::params;
use super::row::Columns;
use super::session::Session;
use super::sql;
use crate::CalendarDeletion;

pub(super) async fn calendars(session: &mut Session) -> Outcome<Vec<Calendar>> {
    readable(&session.rows(&sql::CALENDARS, &[]).await?, |row| {
        let mut c = Columns::of(row);
        Ok(Calendar {
            name: CalendarName::stored(c.text()?),
            description: c.opt_string()?,
            excluded: days(c.text()?, day)?,
            working: days(c.text()?, day)?,
        })
    })
}

pub(super) async fn put(session: &mut Session, calendar: &Calendar, by: &By) -> Outcome<()> {
    let (excluded, working) = (text(&calendar.excluded), text(&calendar.working));
    let row = params![calendar.name.as_str(), calendar.description.as_deref(), excluded, working];
    session.run(&sql::CALENDAR_PUT, &row).await?;
    let (excluded, working) = (calendar.excluded.len(), calendar.working.len());
    let detail = format!("{excluded} days excluded, {working} made up");
    write_audit(session, by, "set", &object(&calendar.name), &detail).await?;
    definition_changed(session).await
}

pub(super) async fn delete(session: &mut Session, name: &CalendarName, by: &By) -> Outcome<CalendarDeletion> {
    let users = session.rows(&sql::CALENDAR_USERS, &params![name.as_str()]).await?;
    if let Some(first) = users.first() {
        let first = TaskCode::stored(Columns::of(first).text()?);
        return Ok(CalendarDeletion::NamedBy { first, tasks: users.len() as u64 });
    }
    if session.run(&sql::CALENDAR_DELETE, &params![name.as_str()]).await? == 0 {
        return Ok(CalendarDeletion::Missing);
    }
    write_audit(session, by, "delete", &object(name), "").await?;
    definition_changed(session).await?;
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
