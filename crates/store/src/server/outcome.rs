//! Write back: the rows of outcomes, for a whole batch at once.
//!
//! **Invariant:** who takes a queue row under its fence has the right to write the rest. PostgreSQL does all of it in one
//! statement, in which the rest follows from the rows that were taken; MySQL locks them first.

use std::borrow::Cow;

use mainspring_model::decide::{Budget, Next};
use mainspring_model::job::{DeadCause, Lane, SkipReason};
use mainspring_model::{AttemptStatus, JobId, JobStatus, Timestamp};

use super::fault::Outcome;
use super::params::{Batch, Column, params};
use super::release::{Busy, ids_of, lock};
use super::row::Columns;
use super::session::{Dialect, Session};
use super::{decode, sql};
use crate::rules::{alert_text, summary};
use crate::{Held, Settlement};

/// A settlement as it is written.
#[derive(Debug)]
pub(super) struct Ending<'s> {
    pub(super) settlement: &'s Settlement,
    pub(super) attempt: AttemptStatus,
    pub(super) summary: Option<String>,
    /// Of a result that is too long for its row.
    pub(super) attachment: Option<i64>,
    /// The transaction holds its task: it may be in a lane.
    pub(super) holds_lane: bool,
}

impl<'s> Ending<'s> {
    /// `None`: the result is too long for its row.
    pub(super) fn short(settlement: &'s Settlement) -> Option<Ending<'s>> {
        let (summary, is_cut) = match &settlement.decision.result {
            None => (None, false),
            Some(result) => {
                let (short, is_cut) = summary(result);
                (Some(short), is_cut)
            }
        };
        let attempt = settlement.decision.attempt;
        (!is_cut).then_some(Ending { settlement, attempt, summary, attachment: None, holds_lane: false })
    }

    /// Keeps the whole of a long result elsewhere.
    pub(super) async fn keep(session: &mut Session, settlement: &'s Settlement) -> Outcome<Ending<'s>> {
        if let Some(short) = Ending::short(settlement) {
            return Ok(short);
        }
        let result = settlement.decision.result.as_deref().unwrap_or_default();
        let attachment = session.insert(&sql::ATTACHMENT_INSERT, &params!["result", result.as_bytes()]).await?;
        Ok(Ending {
            settlement,
            attempt: settlement.decision.attempt,
            summary: Some(summary(result).0),
            attachment: Some(attachment),
            holds_lane: false,
        })
    }

    fn due(&self) -> Option<i64> {
        match self.settlement.decision.next {
            Next::Again { due, .. } => Some(due.as_ms()),
            Next::Final { .. } => None,
        }
    }

    fn status(&self) -> JobStatus {
        match self.settlement.decision.next {
            Next::Again { .. } => JobStatus::Pending,
            Next::Final { status, .. } => status,
        }
    }

    fn failures(&self) -> i64 {
        i64::from(matches!(self.settlement.decision.next, Next::Again { spends: Budget::Failure, .. }))
    }

    fn finish_time(&self) -> Option<i64> {
        self.due().is_none().then_some(self.settlement.finish_time.as_ms())
    }

    /// What expired has never begun.
    fn start_time(&self) -> Option<i64> {
        (self.status() != JobStatus::Skipped).then_some(self.settlement.start_time.as_ms())
    }

    fn skip_reason(&self) -> Option<i64> {
        (self.status() == JobStatus::Skipped).then_some(SkipReason::Expired.code())
    }

    fn cost_ms(&self) -> i64 {
        self.settlement.finish_time.ms_since(self.settlement.start_time).max(0)
    }
}

/// The columns of a batch.
#[derive(Debug)]
struct Rows<'e> {
    endings: Vec<&'e Ending<'e>>,
    columns: Vec<Column<'e>>,
}

impl<'e> Rows<'e> {
    fn new(endings: Vec<&'e Ending<'e>>) -> Rows<'e> {
        Rows { endings, columns: Vec::with_capacity(22) }
    }

    fn int(mut self, of: impl Fn(&Ending<'e>) -> Option<i64>) -> Self {
        self.columns.push(Column::Ints(self.endings.iter().map(|ending| of(ending)).collect()));
        self
    }

    fn text(mut self, of: impl Fn(&'e Ending<'e>) -> Option<&'e str>) -> Self {
        self.columns.push(Column::Texts(self.endings.iter().map(|ending| of(ending).map(Cow::Borrowed)).collect()));
        self
    }

    fn id(self) -> Self {
        self.int(|ending| Some(ending.settlement.held.id.0))
    }

    fn fence(self) -> Self {
        self.int(|ending| Some(ending.settlement.held.fence.0))
    }

    /// What the record learns of the end.
    fn record(self) -> Self {
        self.int(Ending::due)
            .int(|ending| Some(ending.status().code()))
            .int(|ending| Some(ending.failures()))
            .int(|ending| Some(ending.settlement.decision.counts_a_loss().into()))
            .int(|ending| Some(ending.settlement.attempt.into()))
            .int(Ending::start_time)
            .int(Ending::finish_time)
            .int(Ending::skip_reason)
            .int(|ending| ending.attachment)
    }

    /// What the attempt's row learns beside its number.
    fn attempt(self) -> Self {
        self.int(|ending| Some(ending.settlement.node.into()))
            .int(|ending| Some(ending.settlement.start_time.as_ms()))
            .int(|ending| Some(ending.settlement.finish_time.as_ms()))
            .int(|ending| Some(ending.attempt.code()))
            .int(|ending| Some(ending.cost_ms()))
    }

    fn task(self) -> Self {
        self.text(|ending| Some(ending.settlement.task.as_str()))
    }

    fn words(self) -> Self {
        self.text(|ending| ending.summary.as_deref()).text(|ending| ending.settlement.decision.error.as_deref())
    }

    fn key(self) -> Self {
        self.text(|ending| ending.settlement.live_key.as_ref().map(|key| key.as_str()))
    }

    fn batch(self) -> Batch<'e> {
        Batch { columns: self.columns }
    }
}

/// One ending per job at most. Those that were held and may be written, with their lanes.
pub(super) async fn write_all(
    session: &mut Session,
    endings: &[Ending<'_>],
    now: Timestamp,
) -> Outcome<Vec<(JobId, Option<Lane>)>> {
    if endings.is_empty() {
        return Ok(Vec::new());
    }
    match session.dialect() {
        #[cfg(feature = "postgres")]
        Dialect::Postgres => write_at_once(session, endings, now).await,
        #[cfg(feature = "mysql")]
        Dialect::MySql => write_in_steps(session, endings, now).await,
    }
}

#[cfg(feature = "postgres")]
async fn write_at_once(
    session: &mut Session,
    endings: &[Ending<'_>],
    now: Timestamp,
) -> Outcome<Vec<(JobId, Option<Lane>)>> {
    let mut written = Vec::with_capacity(endings.len());
    for (part, endings) in session.by_part(endings.iter().collect(), |ending| ending.settlement.held.id) {
        let batch = Rows::new(endings)
            .id()
            .fence()
            .int(|ending| Some(ending.settlement.held.owner.0))
            .int(|ending| Some(ending.holds_lane.into()))
            .record()
            .attempt()
            .task()
            .words()
            .key()
            .batch();
        for row in session.rows_in(part, &sql::SETTLE_ALL, &params![batch, now]).await? {
            let mut c = Columns::of(&row);
            written.push((JobId(c.int()?), decode::lane(&mut c)?));
        }
    }
    Ok(written)
}

#[cfg(feature = "mysql")]
async fn write_in_steps(
    session: &mut Session,
    endings: &[Ending<'_>],
    now: Timestamp,
) -> Outcome<Vec<(JobId, Option<Lane>)>> {
    let asked: Vec<Held> = endings.iter().map(|ending| ending.settlement.held).collect();
    let mut taken = std::collections::BTreeMap::new();
    for row in lock(session, &asked, Busy::Wait).await? {
        taken.insert(row.held, row.lane);
    }
    let may_write = |ending: &&Ending<'_>| match taken.get(&ending.settlement.held) {
        Some(lane) => lane.is_none() || ending.holds_lane,
        None => false,
    };
    let held: Vec<&Ending<'_>> = endings.iter().filter(may_write).collect();
    if held.is_empty() {
        return Ok(Vec::new());
    }
    let (ended, again): (Vec<&Ending<'_>>, Vec<&Ending<'_>>) = held.iter().partition(|ending| ending.due().is_none());
    if !ended.is_empty() {
        let ids = ids_of(ended.iter().map(|ending| ending.settlement.held.id));
        session.run(&sql::QUEUE_END_ALL, &params![ids]).await?;
    }
    if !again.is_empty() {
        let batch = Rows::new(again).id().int(Ending::due).batch();
        session.run(&sql::QUEUE_AGAIN_ALL, &params![batch]).await?;
    }
    let batch = Rows::new(held.clone()).id().fence().record().words().batch();
    session.run_batch(&sql::JOB_SETTLE_ALL, batch, &params![now]).await?;
    write_attempts(session, &held, now).await?;
    let keyed: Vec<_> = ended.into_iter().filter(|ending| ending.settlement.live_key.is_some()).collect();
    if !keyed.is_empty() {
        session.run(&sql::KEY_FREE_ALL, &params![Rows::new(keyed).id().key().task().batch()]).await?;
    }
    Ok(held.iter().map(|ending| (ending.settlement.held.id, taken.remove(&ending.settlement.held).flatten())).collect())
}

pub(super) async fn write_attempts(session: &mut Session, endings: &[&Ending<'_>], now: Timestamp) -> Outcome<()> {
    let batch = Rows::new(endings.to_vec())
        .id()
        .fence()
        .int(|ending| Some(ending.settlement.attempt.into()))
        .attempt()
        .int(|ending| ending.attachment)
        .task()
        .words()
        .batch();
    session.run_batch(&sql::ATTEMPT_END_ALL, batch, &params![now]).await.map(drop)
}

/// The jobs wait for a person, and people are told: with the outcomes or not at all.
pub(super) async fn write_deaths(
    session: &mut Session,
    deaths: &[(&Settlement, DeadCause)],
    now: Timestamp,
) -> Outcome<()> {
    if deaths.is_empty() {
        return Ok(());
    }
    let ids = Column::Ints(deaths.iter().map(|(settlement, _)| Some(settlement.held.id.0)).collect());
    let causes = Column::Ints(deaths.iter().map(|(_, cause)| Some(cause.code())).collect());
    let tasks = Column::Texts(deaths.iter().map(|(settlement, _)| Some(settlement.task.as_str().into())).collect());
    let words = |(settlement, cause): &(&Settlement, DeadCause)| {
        Some(alert_text(cause.as_str(), settlement.decision.error.as_deref()).into())
    };
    let texts = Column::Texts(deaths.iter().map(words).collect());
    let batch = Batch { columns: vec![ids.clone(), causes, tasks.clone()] };
    session.run_batch(&sql::DEAD_INSERT_ALL, batch, &params![now]).await?;
    let batch = Batch { columns: vec![ids, tasks, texts] };
    session.run_batch(&sql::ALERT_INSERT_ALL, batch, &params!["JOB_FAILED", now]).await.map(drop)
}
