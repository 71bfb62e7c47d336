//! Calendars, changed by people: the tasks that name one follow at once.

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::calendar::Calendar;
use mainspring_model::{CalendarName, Code, Refused, limits};
use mainspring_store::{CalendarDeletion, StoreError};

use crate::core::Core;
use crate::error::Error;

impl Core {
    pub(crate) async fn put_calendar(self: &Arc<Core>, calendar: Calendar, by: &str) -> Result<(), Error> {
        calendar.check()?;
        self.catch_up().await?;
        let is_new = self.tasks.calendar(&calendar.name).is_none();
        if is_new && self.tasks.calendars().len() >= limits::CALENDARS_MAX {
            let detail = format!("at most {} calendars are kept", limits::CALENDARS_MAX);
            return Err(Refused::field("name", "TOO_MANY", detail).into());
        }
        let put = self.store.put_calendar(calendar.clone(), by.to_owned(), self.clock.now()).await;
        if let Err(StoreError::Unknown { .. }) = put {
            self.reload_calendars_soon();
        }
        put?;
        self.tasks.put_calendar(calendar);
        self.plan_all_again().await;
        Ok(())
    }

    /// Nobody knows whether a change was written: memory follows what is stored.
    fn reload_calendars_soon(self: &Arc<Core>) {
        let core = self.clone();
        self.spawn_once(async move {
            let Ok(stored) = core.insist(Duration::MAX, || core.store.calendars()).await else { return };
            core.tasks.put_calendars(stored);
            core.plan_all_again().await;
        });
    }

    pub(crate) async fn delete_calendar(&self, name: &CalendarName, by: &str) -> Result<(), Error> {
        match self.store.delete_calendar(name.clone(), by.to_owned(), self.clock.now()).await? {
            CalendarDeletion::Deleted => {
                self.tasks.remove_calendar(name);
                Ok(())
            }
            CalendarDeletion::Missing => Err(no_such_calendar(name).into()),
            CalendarDeletion::NamedBy { first, tasks } => {
                let detail = format!("calendar `{name}` is named by {tasks} tasks, `{first}` among them");
                Err(Refused::new(Code::CalendarInUse, detail).hint("take it out of their definitions first").into())
            }
        }
    }

    pub(crate) fn calendar(&self, name: &CalendarName) -> Result<Calendar, Refused> {
        self.tasks.calendar(name).map(|calendar| Calendar::clone(&calendar)).ok_or_else(|| no_such_calendar(name))
    }
}

fn no_such_calendar(name: &CalendarName) -> Refused {
    Refused::new(Code::CalendarNotFound, format!("there is no calendar `{name}`"))
}
