//! What the store does with the partitions of days: sees that they are there before their jobs come, and drops those that
//! are history. Only PostgreSQL has them.

use std::time::Duration;

use mainspring_model::{Clock as _, JobId, Timestamp};

use super::ServerStore;
use super::days::{Day, Part};
use super::transact::run;
use crate::postgres::drop_days::{self, Step};
use crate::postgres::partitions::{self, Made, Turn};
use crate::{DroppedHistory, KeptDay, Result, StoreError, Trouble};

/// Between two looks whether partitions are to be made.
const LOOK_EVERY_MS: i64 = 3_600_000;
/// After one that failed.
const LOOK_AGAIN_MS: i64 = 60_000;
/// Partitions that somebody always uses are tried this often; each try is a few short waits for their locks.
const TRIES_MAX: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);
const VERB: &str = "drop_history";

impl ServerStore {
    /// Before the first job comes. Several nodes that start at one time wait for each other.
    pub(super) async fn open_partitions(&self, now: Timestamp) {
        if self.kind != "postgres" {
            return;
        }
        self.days.look_at(now.as_ms() + LOOK_EVERY_MS);
        if let Err(error) = self.make_partitions(now, Turn::Wait).await {
            tracing::warn!(place = self.place, %error, "partitions of coming days are made in a moment");
            self.days.look_at(0);
        }
    }

    /// Once in an hour. What fails is tried again in a minute: there are days left.
    pub(super) async fn look_ahead(&self, now: Timestamp) {
        if self.kind != "postgres" || !self.days.is_to_look(now, LOOK_EVERY_MS) {
            return;
        }
        if let Err(error) = self.make_partitions(now, Turn::Pass).await {
            tracing::warn!(%error, "partitions of coming days are made in a moment");
            self.days.look_at(now.as_ms() + LOOK_AGAIN_MS);
        }
    }

    pub(super) async fn make_partitions(&self, now: Timestamp, turn: Turn) -> Result<()> {
        let there = run!(self, Look, "make_partitions", session => partitions::attached(session))?;
        let missing = partitions::missing(&there, Day::at(now));
        for day in &missing {
            match run!(self, Write, "make_partitions", session => partitions::make(session, *day, turn))? {
                Made::Yes => {}
                Made::ByAnother => break,
                Made::InDefault => tracing::warn!(
                    place = self.place,
                    %day,
                    "jobs of this day are in the default partition, so it gets none of its own; they are not dropped as history"
                ),
            }
        }
        let there = match missing.is_empty() {
            true => there,
            false => run!(self, Look, "make_partitions", session => partitions::attached(session))?,
        };
        self.days.learn(there);
        Ok(())
    }

    /// Drops the history of whole days (UTC) before `before` that are over and have no job that is not final. With their jobs
    /// and attempts go outputs, large payloads and results, keys, entries among the dead jobs, and alerts. What the audit log
    /// says stays. An interrupted call is completed by the next one.
    ///
    /// MySQL and MariaDB: refused, their tables have no partitions.
    pub async fn drop_history(&self, before: Timestamp) -> Result<DroppedHistory> {
        self.refuse_other_servers()?;
        let before = self.bound(before).await?;
        let mut dropped = DroppedHistory::default();
        for day in run!(self, Look, VERB, session => drop_days::begun(session))? {
            self.remove_day(day, &mut dropped).await?;
        }
        for day in self.days_before(before, &mut dropped).await? {
            match self.take_out_day(day).await? {
                None => self.remove_day(day, &mut dropped).await?,
                Some(reason) => dropped.kept.push(KeptDay { day: day.to_string(), reason }),
            }
        }
        Ok(dropped)
    }

    /// What `drop_history` would do now. Changes nothing.
    pub async fn droppable_history(&self, before: Timestamp) -> Result<DroppedHistory> {
        self.refuse_other_servers()?;
        let before = self.bound(before).await?;
        let mut found = DroppedHistory::default();
        let begun = run!(self, Look, VERB, session => drop_days::begun(session))?;
        let begun = begun.into_iter().map(Part::Dropped);
        let whole = self.days_before(before, &mut found).await?.into_iter().map(Part::Day);
        for part in begun.chain(whole) {
            let (Part::Day(day) | Part::Dropped(day)) = part;
            if let Some(reason) = self.reason_to_stay(day).await? {
                found.kept.push(KeptDay { day: day.to_string(), reason });
                continue;
            }
            let mut from = Some(day.first_id());
            while let Some(first) = from {
                let step = run!(self, Read, VERB, session => drop_days::look(session, part, day, first))?;
                from = found.count(step);
            }
            found.days.push(day.to_string());
        }
        Ok(found)
    }

    fn refuse_other_servers(&self) -> Result<()> {
        if self.kind == "postgres" {
            return Ok(());
        }
        let reason = "only PostgreSQL keeps history in partitions of days that can be dropped".to_owned();
        Err(StoreError::NotApplied { verb: VERB, kind: Trouble::Unsupported, reason })
    }

    /// Never today: its jobs are still coming.
    async fn bound(&self, before: Timestamp) -> Result<Day> {
        let today = crate::Store::now(self).await?;
        Ok(Day::at(before).min(Day::at(today)))
    }

    async fn days_before(&self, before: Day, found: &mut DroppedHistory) -> Result<Vec<Day>> {
        let there = run!(self, Look, VERB, session => partitions::attached(session))?;
        if let Some(id) = run!(self, Look, VERB, session => drop_days::in_default(session, before))? {
            let reason = format!("job {id} and perhaps others are in the default partition");
            found.kept.push(KeptDay { day: Day::of(id).to_string(), reason });
        }
        Ok(there.range(..before).copied().collect())
    }

    async fn reason_to_stay(&self, day: Day) -> Result<Option<String>> {
        let live = run!(self, Look, VERB, session => drop_days::live(session, day))?;
        Ok(live.map(live_words))
    }

    /// `Some`: why it stays.
    async fn take_out_day(&self, day: Day) -> Result<Option<String>> {
        if let Some(reason) = self.reason_to_stay(day).await? {
            return Ok(Some(reason));
        }
        let mut from = Some(day.first_id());
        while let Some(first) = from {
            from = run!(self, Write, VERB, session => drop_days::free_keys(session, day, first))?.next;
        }
        self.days.forget(day);
        let mut tries = 1;
        loop {
            let taken: Result<Option<JobId>> =
                async { run!(self, Write, VERB, session => drop_days::take_out(session, day)) }.await;
            match taken {
                Ok(live) => return Ok(live.map(live_words)),
                Err(StoreError::NotApplied { kind: Trouble::Unavailable, reason, .. }) if tries == TRIES_MAX => {
                    return Ok(Some(format!("somebody uses the table: {reason}")));
                }
                Err(StoreError::NotApplied { kind: Trouble::Unavailable, .. }) => tries += 1,
                Err(error) => return Err(error),
            }
            self.clock.sleep(PAUSE).await;
        }
    }

    async fn remove_day(&self, day: Day, dropped: &mut DroppedHistory) -> Result<()> {
        let mut from = Some(day.first_id());
        while let Some(first) = from {
            let step = run!(self, Write, VERB, session => drop_days::remove_belongings(session, day, first))?;
            from = dropped.count(step);
        }
        while run!(self, Write, VERB, session => drop_days::remove_outputs(session, day))? {}
        run!(self, Write, VERB, session => drop_days::remove_tables(session, day))?;
        dropped.days.push(day.to_string());
        Ok(())
    }
}

fn live_words(id: JobId) -> String {
    format!("job {id} is not final")
}

impl DroppedHistory {
    fn count(&mut self, step: Step) -> Option<JobId> {
        self.jobs += step.jobs;
        self.attempts += step.attempts;
        step.next
    }
}
