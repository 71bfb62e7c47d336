//! Calendars: named lists of days that schedules go by.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use mainspring_engine::Engine;
use mainspring_model::limits::CALENDAR_DAYS_MAX;
use mainspring_model::{Calendar, CalendarName, Refused, Task, TaskCode, calendar};
use mainspring_store::TaskFilter;

use super::{Answer, actor, ok};
use crate::body::JsonBody;
use crate::extract::Fields;
use crate::openapi::Refusals;
use crate::path::PathOf;
use crate::problem::Problem;
use crate::query::NoParams;
use crate::state::AppState;
use crate::wire;

/// List calendars
#[utoipa::path(
    get, path = "/calendars", tag = "calendars",
    responses((status = 200, description = "All calendars", body = wire::List<wire::Calendar>), Refusals)
)]
pub(crate) async fn list_calendars(State(state): State<AppState>, _: NoParams) -> Answer {
    let tasks = state.engine.tasks(TaskFilter::default()).await?;
    let calendars = state.engine.calendars();
    let items = calendars.iter().map(|calendar| shown(calendar, &tasks)).collect::<Vec<_>>();
    ok(&wire::List { items })
}

/// Show a calendar
#[utoipa::path(
    get, path = "/calendars/{name}", tag = "calendars",
    params(("name" = String, Path, description = "The calendar's name")),
    responses(
        (status = 200, description = "The calendar", body = wire::Calendar),
        (status = 404, description = "CALENDAR_NOT_FOUND", body = wire::Problem,
         content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn show_calendar(
    State(state): State<AppState>,
    PathOf(name): PathOf<CalendarName>,
    _: NoParams,
) -> Answer {
    ok(&show(&state.engine, &name).await?)
}

/// Create or replace a calendar
///
/// The whole of it: what is absent is empty. The tasks that name it are planned anew at once; `ended` names those that have
/// no fire time left because of it.
#[utoipa::path(
    put, path = "/calendars/{name}", tag = "calendars",
    params(("name" = String, Path, description = "The calendar's name")), request_body = wire::NewCalendar,
    responses((status = 200, description = "The calendar", body = wire::Calendar), Refusals)
)]
pub(crate) async fn put_calendar(
    State(state): State<AppState>,
    PathOf(name): PathOf<CalendarName>,
    headers: HeaderMap,
    _: NoParams,
    JsonBody(body): JsonBody,
) -> Answer {
    let mut fields = Fields::of(&body)?;
    let description = fields.optional("description");
    let excluded = days(&mut fields, "excluded");
    let working = days(&mut fields, "working");
    fields.finish(Some(()))?;
    let calendar = Calendar { name: name.clone(), description, excluded, working };
    let engine = &state.engine;
    let before = engine.tasks(TaskFilter::default()).await?.into_iter();
    let before = before.filter(|task| task.definition.calendar.as_ref() == Some(&name) && fires_again(engine, task));
    let before: BTreeSet<TaskCode> = before.map(|task| task.code).collect();
    engine.put_calendar(calendar, &actor(&headers)).await?;
    let users = engine.tasks(TaskFilter::default()).await?.into_iter();
    let ended = users.filter(|task| before.contains(&task.code) && !fires_again(engine, task));
    let ended = Some(ended.map(|task| task.code).collect());
    ok(&wire::Calendar { ended, ..show(engine, &name).await? })
}

/// A task that is disabled is told of too: enabling it would be refused.
fn fires_again(engine: &Engine, task: &Task) -> bool {
    let schedule = engine.schedule_of(&task.definition).ok().flatten();
    schedule.is_some_and(|schedule| schedule.next(engine.clock().now()).is_some())
}

/// Delete a calendar
#[utoipa::path(
    delete, path = "/calendars/{name}", tag = "calendars",
    params(("name" = String, Path, description = "The calendar's name")),
    responses(
        (status = 204, description = "It is gone"),
        (status = 404, description = "CALENDAR_NOT_FOUND", body = wire::Problem,
         content_type = "application/problem+json"),
        (status = 409, description = "CALENDAR_IN_USE: tasks name it", body = wire::Problem,
         content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn delete_calendar(
    State(state): State<AppState>,
    PathOf(name): PathOf<CalendarName>,
    headers: HeaderMap,
    _: NoParams,
) -> Answer {
    state.engine.delete_calendar(&name, &actor(&headers)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn show(engine: &Engine, name: &CalendarName) -> Result<wire::Calendar, Problem> {
    let tasks = engine.tasks(TaskFilter::default()).await?;
    Ok(shown(&engine.calendar(name)?, &tasks))
}

/// Days and ranges of days. The first wrong one is told.
fn days(fields: &mut Fields<'_>, name: &'static str) -> BTreeSet<calendar::Day> {
    let texts: Vec<String> = fields.optional(name).unwrap_or_default();
    let read = texts.iter().try_fold(BTreeSet::new(), |mut all, text| {
        all.extend(calendar::days(text)?);
        // Many long ranges would be a lot of work before the calendar is judged as a whole.
        if all.len() > CALENDAR_DAYS_MAX {
            return Err(Refused::field(name, "TOO_MANY", format!("{name} has more than {CALENDAR_DAYS_MAX} days")));
        }
        Ok(all)
    });
    fields.complaints.keep(name, read).unwrap_or_default()
}

fn shown(calendar: &Calendar, tasks: &[Task]) -> wire::Calendar {
    let days = |days: &BTreeSet<calendar::Day>| days.iter().map(ToString::to_string).collect();
    let users = tasks.iter().filter(|task| task.definition.calendar.as_ref() == Some(&calendar.name));
    wire::Calendar {
        name: calendar.name.clone(),
        description: calendar.description.clone(),
        excluded: days(&calendar.excluded),
        working: days(&calendar.working),
        tasks: users.map(|task| task.code.clone()).collect(),
        ended: None,
    }
}
