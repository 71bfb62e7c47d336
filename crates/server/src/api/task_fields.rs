//! A task's definition as bodies say it: read with all complaints.

use mainspring_engine::{Engine, Error};
use mainspring_model::schedule::{Every, Rhythm};
use mainspring_model::task::{TaskDefinition, TaskKind, TaskSwitch, never_fires};
use mainspring_model::{HandlerName, Refused, Span, TaskCode};

use crate::extract::{Fields, Given};

/// Shown, but never written by this way.
const READ_ONLY: &[(&str, &str)] = &[
    ("enabled", "use enable and disable"),
    ("status", "use enable and disable"),
    ("disabledReason", "it is recorded"),
    ("running", "it is counted"),
    ("nextFireTime", "it follows from the schedule"),
    ("prevFireTime", "it follows from the schedule"),
    ("createTime", "it is recorded"),
    ("updateTime", "it is recorded"),
    ("allowedOperations", "they follow from the state"),
    ("deniedOperations", "they follow from the state"),
    ("lastJob", "it is recorded"),
];

/// What becomes of a field that the body does not speak of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absent {
    Stays,
    IsDefault,
}

/// A task to be: its code, its definition, and how it begins.
#[derive(Debug, Clone)]
pub(crate) struct NewTask {
    pub(crate) code: TaskCode,
    pub(crate) definition: TaskDefinition,
    pub(crate) switch: TaskSwitch,
}

pub(crate) fn read_new(mut fields: Fields<'_>) -> Result<NewTask, Refused> {
    let code: Option<TaskCode> = fields.required("code");
    let enabled: Option<bool> = fields.optional("enabled");
    let switch = if enabled == Some(false) { TaskSwitch::Disabled } else { TaskSwitch::Enabled };
    let (code, definition) = read_whole(fields, code)?;
    Ok(NewTask { code, definition, switch })
}

/// A definition from its defaults and what the body says.
pub(crate) fn read_whole(
    mut fields: Fields<'_>,
    code: Option<TaskCode>,
) -> Result<(TaskCode, TaskDefinition), Refused> {
    let handler: Option<HandlerName> = fields.required("handler");
    let text = code.as_ref().map_or("", TaskCode::as_str);
    let mut definition = TaskDefinition::new(text, handler.clone().unwrap_or_else(|| HandlerName::stored("")));
    apply(&mut fields, &mut definition, text, Absent::IsDefault)?;
    let (code, _) = fields.finish(code.zip(handler))?;
    Ok((code, definition))
}

/// Changes what the body speaks of: a value is set, null goes back to the default.
pub(crate) fn apply(
    fields: &mut Fields<'_>,
    to: &mut TaskDefinition,
    code: &str,
    absent: Absent,
) -> Result<(), Refused> {
    let default = TaskDefinition::new(code, to.handler.clone());
    set(fields.given("name"), &mut to.name, default.name);
    if let Given::Value(handler) = fields.given::<HandlerName>("handler") {
        to.handler = handler;
    }
    let kind = fields.given("type");
    apply_when(fields, to);
    let says_when = to.cron_expression.is_some() || to.every.is_some();
    match kind {
        Given::Value(kind) => to.kind = kind,
        // Whoever writes a whole task and says when it fires has said what it is.
        Given::Absent | Given::Null if absent == Absent::IsDefault && says_when => to.kind = TaskKind::Cron,
        given => set(given, &mut to.kind, default.kind),
    }
    match fields.json("param")? {
        Given::Absent => {}
        Given::Null => to.param = None,
        Given::Value(json) => to.param = Some(json.to_owned()),
    }
    set(fields.given("timeoutSeconds"), &mut to.timeout_seconds, default.timeout_seconds);
    set(fields.given("failStrategy"), &mut to.fail_strategy, default.fail_strategy);
    set(fields.given("retryCount"), &mut to.retry.count, default.retry.count);
    set_span(fields.given("retryBase"), &mut to.retry.base_ms, default.retry.base_ms);
    set_span(fields.given("retryCap"), &mut to.retry.cap_ms, default.retry.cap_ms);
    set(fields.given("pool"), &mut to.pool, default.pool);
    set(fields.given("priority"), &mut to.priority, default.priority);
    // Its default follows from the type.
    let overlap = match fields.given("overlap") {
        Given::Absent if absent == Absent::IsDefault => Given::Null,
        given => given,
    };
    set(overlap, &mut to.overlap, TaskDefinition::default_overlap(to.kind));
    set_option(fields.given("maxRunning"), &mut to.max_running);
    set_option(fields.given("concurrencyKey"), &mut to.concurrency_key);
    set_option(fields.given("rateLimit"), &mut to.rate_limit);
    set(fields.given("misfire"), &mut to.misfire, default.misfire);
    set(fields.given("misfireGraceSeconds"), &mut to.misfire_grace_seconds, default.misfire_grace_seconds);
    set(fields.given("maxCatchup"), &mut to.max_catchup, default.max_catchup);
    set_option(fields.given("startDeadlineSeconds"), &mut to.start_deadline_seconds);
    set(fields.given("nodeLabels"), &mut to.node_labels, default.node_labels);
    set(fields.given("broadcast"), &mut to.broadcast, default.broadcast);
    set(fields.given("onLost"), &mut to.on_lost, default.on_lost);
    set_option(fields.given("owner"), &mut to.owner);
    set(fields.given("tags"), &mut to.tags, default.tags);
    set_option(fields.given("description"), &mut to.description);
    fields.refuse_known(READ_ONLY.iter().map(|(name, why)| (*name, "READ_ONLY", *why)));
    // An answer of its own, with the place: editors mark it.
    to.check_expression()
}

fn apply_when(fields: &mut Fields<'_>, to: &mut TaskDefinition) {
    set_option(fields.given("cronExpression"), &mut to.cron_expression);
    set_option(fields.given("timeZone"), &mut to.time_zone);
    let rhythm = to.every.map_or(Rhythm::FixedRate, |every| every.rhythm);
    match fields.given::<Span>("every") {
        Given::Absent => {}
        Given::Null => to.every = None,
        Given::Value(span) => to.every = Some(Every { span, rhythm }),
    }
    let said = fields.given::<Rhythm>("everyRhythm");
    match (said, &mut to.every) {
        (Given::Absent, _) | (Given::Null, None) => {}
        (Given::Null, Some(every)) => every.rhythm = Rhythm::FixedRate,
        (Given::Value(rhythm), Some(every)) => every.rhythm = rhythm,
        (Given::Value(_), None) => {
            fields.complaints.add("everyRhythm", "WITHOUT_EVERY", "everyRhythm says from where every counts");
        }
    }
    set_option(fields.given("startAt"), &mut to.start_at);
    set_option(fields.given("endAt"), &mut to.end_at);
    set_option(fields.given("calendar"), &mut to.calendar);
}

/// A schedule for a task of another type: a change of some fields never changes the type unasked.
pub(crate) fn hint_at_type(error: Error) -> Error {
    match error {
        Error::Refused(refused) if refused.errors.iter().any(|error| error.code == "NOT_A_CRON_TASK") => {
            Error::Refused(refused.hint("to make it a task that fires, send \"type\": \"cron\" with it (--type cron)"))
        }
        error => error,
    }
}

/// Also of a task that begins disabled: whoever writes a schedule hears at once that it never fires.
pub(crate) fn check_that_it_fires(engine: &Engine, new: &NewTask) -> Result<(), Refused> {
    let schedule = engine.schedule_of(&new.definition)?;
    let now = engine.clock().now();
    if schedule.is_some_and(|schedule| schedule.next(now).is_none()) {
        return Err(never_fires(&new.code));
    }
    Ok(())
}

fn set<T>(given: Given<T>, place: &mut T, default: T) {
    match given {
        Given::Absent => {}
        Given::Null => *place = default,
        Given::Value(value) => *place = value,
    }
}

fn set_option<T>(given: Given<T>, place: &mut Option<T>) {
    match given {
        Given::Absent => {}
        Given::Null => *place = None,
        Given::Value(value) => *place = Some(value),
    }
}

fn set_span(given: Given<Span>, place: &mut i64, default: i64) {
    match given {
        Given::Absent => {}
        Given::Null => *place = default,
        Given::Value(span) => *place = span.as_ms(),
    }
}
