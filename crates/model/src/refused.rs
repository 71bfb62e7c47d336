//! Every way to say no to a caller, with its stable code.

use std::fmt;

use crate::cron::{Class, Field};
use crate::operations::Listed;
use crate::time::Span;

/// The caller's request cannot be carried out as it stands. Nothing was stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Refused {
    pub code: Code,
    pub detail: String,
    /// What to do next, where the detail does not say it.
    pub hint: Option<String>,
    /// One entry per wrong field.
    pub errors: Vec<FieldError>,
    pub retry_after: Option<Span>,
    /// For `VERSION_CONFLICT`: the version that is stored now.
    pub current_version: Option<i64>,
    /// For `OPERATION_NOT_ALLOWED`: what is allowed instead.
    pub allowed: Option<Listed>,
    /// For `CRON_INVALID`: what is wrong with the expression, and where.
    pub cron: Option<CronPlace>,
}

/// Where an expression is wrong, for programs that mark the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CronPlace {
    pub class: Class,
    pub field: Option<Field>,
    /// The column of the first wrong character, 1 for the first.
    pub position: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    pub field: String,
    pub code: &'static str,
    pub detail: String,
}

macro_rules! codes {
    ($($variant:ident = $text:literal, $status:literal, $title:literal;)+) => {
        /// Stable codes: programs branch on them, so they are never renamed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($variant),+ }

        impl Code {
            pub const ALL: &'static [Code] = &[$(Code::$variant),+];
            pub const fn as_str(self) -> &'static str { match self { $(Code::$variant => $text),+ } }
            pub const fn http_status(self) -> u16 { match self { $(Code::$variant => $status),+ } }
            pub const fn title(self) -> &'static str { match self { $(Code::$variant => $title),+ } }
        }
    };
}

codes! {
    Validation = "VALIDATION", 422, "The input is not valid";
    CronInvalid = "CRON_INVALID", 422, "The cron expression or time zone is not valid";
    CronNeverFires = "CRON_NEVER_FIRES", 422, "The schedule never fires";
    FilterNotIndexed = "FILTER_NOT_INDEXED", 422, "No index serves this filter";
    TaskNotFound = "TASK_NOT_FOUND", 404, "No such task";
    JobNotFound = "JOB_NOT_FOUND", 404, "No such job";
    AttemptNotFound = "ATTEMPT_NOT_FOUND", 404, "No such attempt";
    PoolNotFound = "POOL_NOT_FOUND", 404, "No such pool";
    NodeNotFound = "NODE_NOT_FOUND", 404, "No such node";
    CalendarNotFound = "CALENDAR_NOT_FOUND", 404, "No such calendar";
    CalendarInUse = "CALENDAR_IN_USE", 409, "Tasks name this calendar";
    RequestUnderWay = "REQUEST_UNDER_WAY", 409, "The same request is being carried out";
    HandlerNotFound = "HANDLER_NOT_FOUND", 422, "No such handler";
    TaskExists = "TASK_EXISTS", 409, "A task with this code exists";
    TaskDisabled = "TASK_DISABLED", 409, "The task is disabled";
    TaskRunning = "TASK_RUNNING", 409, "The task is running";
    VersionConflict = "VERSION_CONFLICT", 409, "Somebody else changed it";
    OperationNotAllowed = "OPERATION_NOT_ALLOWED", 409, "Not allowed in this state";
    JobUnreadable = "JOB_UNREADABLE", 409, "The stored job cannot be read";
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", 413, "The payload is too large";
    BacklogFull = "BACKLOG_FULL", 429, "Too much work is waiting";
    Stopping = "STOPPING", 503, "The node is stopping";
}

impl Refused {
    pub fn new(code: Code, detail: impl Into<String>) -> Refused {
        Refused {
            code,
            detail: detail.into(),
            hint: None,
            errors: Vec::new(),
            retry_after: None,
            current_version: None,
            allowed: None,
            cron: None,
        }
    }

    /// One wrong field.
    pub fn field(field: &str, code: &'static str, detail: impl Into<String>) -> Refused {
        let detail = detail.into();
        Refused {
            errors: vec![FieldError { field: field.to_owned(), code, detail: detail.clone() }],
            ..Refused::new(Code::Validation, detail)
        }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Refused {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn retry_after(mut self, wait: Span) -> Refused {
        self.retry_after = Some(wait);
        self
    }

    /// The same complaint about a field of another name.
    #[must_use]
    pub fn of_field(mut self, field: &str) -> Refused {
        for error in &mut self.errors {
            field.clone_into(&mut error.field);
        }
        self
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Gathers the complaints about one input, so that a caller hears all of them at once.
#[derive(Debug, Default)]
pub struct Complaints(Vec<FieldError>);

impl Complaints {
    pub fn add(&mut self, field: &str, code: &'static str, detail: impl Into<String>) {
        self.0.push(FieldError { field: field.to_owned(), code, detail: detail.into() });
    }

    /// Keeps a checked value, or its complaint under the name of `field`.
    pub fn keep<T>(&mut self, field: &str, checked: Result<T, Refused>) -> Option<T> {
        match checked {
            Ok(value) => Some(value),
            Err(refused) if refused.errors.is_empty() => {
                self.add(field, refused.code.as_str(), refused.detail);
                None
            }
            Err(refused) => {
                self.0.extend(refused.of_field(field).errors);
                None
            }
        }
    }

    pub fn into_result(self) -> Result<(), Refused> {
        match self.0.first() {
            None => Ok(()),
            Some(first) => {
                let more = self.0.len() - 1;
                let detail =
                    if more == 0 { first.detail.clone() } else { format!("{} (and {more} more)", first.detail) };
                Err(Refused { errors: self.0, ..Refused::new(Code::Validation, detail) })
            }
        }
    }
}
