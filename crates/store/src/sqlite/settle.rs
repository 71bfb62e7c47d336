//! Write back: an outcome and all that follows from it, in one transaction.

use mainspring_model::decide::{Budget, Next};
use mainspring_model::job::{DeadCause, Lane, SkipReason};
use mainspring_model::{AttemptStatus, BizId, JobId, JobStatus, TaskCode, Timestamp};
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::command::answer_each;
use super::decode::{coded, time};
use super::fault::Outcome;
use super::lanes::{self, Tasks};
use super::schedule::after_end;
use super::sql;
use crate::rules::{alert_text, is_own_end, stopped_text, summary};
use crate::{Held, Settled, Settlement};

pub(super) fn settle(conn: &Connection, settlements: &[Settlement], now: Timestamp) -> Outcome<Vec<Settled>> {
    let mut batch = Batch {
        conn,
        now,
        queue_end: conn.prepare_cached(sql::QUEUE_END)?,
        queue_again: conn.prepare_cached(sql::QUEUE_AGAIN)?,
        job_settle: conn.prepare_cached(sql::JOB_SETTLE)?,
        attempt_end: conn.prepare_cached(sql::ATTEMPT_END)?,
        key_free: conn.prepare_cached(sql::KEY_FREE)?,
        tasks: Tasks::new(conn),
    };
    answer_each(
        conn,
        settlements,
        |settlement| batch.settle(settlement),
        |settlement, reason| {
            tracing::error!(job = %settlement.held.id, reason, "a job cannot be read: its outcome is discarded");
            Settled::Unreadable
        },
    )
}

struct Batch<'c> {
    conn: &'c Connection,
    now: Timestamp,
    queue_end: CachedStatement<'c>,
    queue_again: CachedStatement<'c>,
    job_settle: CachedStatement<'c>,
    attempt_end: CachedStatement<'c>,
    key_free: CachedStatement<'c>,
    tasks: Tasks<'c>,
}

/// What is kept of a result.
struct Kept {
    summary: Option<String>,
    attachment: Option<i64>,
}

impl Batch<'_> {
    fn settle(&mut self, settlement: &Settlement) -> Outcome<Settled> {
        let Held { id, fence, owner } = settlement.held;
        let lane = self.lane(settlement)?;
        let touched = match settlement.decision.next {
            Next::Final { .. } => self.queue_end.execute([id.0, fence.0, owner.0])?,
            Next::Again { due, .. } => self.queue_again.execute([id.0, fence.0, due.as_ms(), owner.0])?,
        };
        if touched == 0 {
            return self.late(settlement);
        }
        let kept = self.keep_result(settlement)?;
        self.write_record(settlement, &kept)?;
        self.write_attempt(settlement, settlement.decision.attempt, &kept)?;
        if let Next::Final { status, dead, stop_task } = settlement.decision.next {
            if let Some(biz_id) = &settlement.live_key {
                self.key_free.execute(params![biz_id.as_str(), settlement.task.as_str(), id.0])?;
            }
            if let Some(cause) = dead {
                let text = alert_text(cause.as_str(), settlement.decision.error.as_deref());
                write_death(self.conn, settlement.held.id, &settlement.task, cause, &text, self.now)?;
            }
            if stop_task {
                stop(self.conn, settlement, status, self.now)?;
            }
            if status == JobStatus::Skipped {
                let row = [id.0, SkipReason::Expired.code()];
                self.conn.prepare_cached(sql::JOB_SKIP)?.execute(row)?;
            }
            // The clock may have gone back while the body ran: its next fire must not wait until it has caught up.
            let finish = settlement.finish_time.min(self.now);
            after_end(self.conn, &settlement.task, settlement.trigger, finish, self.now)?;
        }
        let freed = match lane {
            Some(lane) => lanes::go_on(self.conn, &settlement.task, &lane)?,
            None => 0,
        };
        Ok(if freed == 0 { Settled::Applied } else { Settled::AppliedAndFreed })
    }

    /// The lane of the job, before its queue row is gone. A job that was claimed outside of any lane is in one since its
    /// task got a limit: asked once per batch and task.
    fn lane(&mut self, settlement: &Settlement) -> Outcome<Option<Lane>> {
        if settlement.lane.is_some() {
            return Ok(settlement.lane.clone());
        }
        match self.tasks.readable(&settlement.task)? {
            Some(task) if task.definition.is_guarded() => {
                Ok(lanes::of_job(self.conn, settlement.held.id)?.map(|(_, lane)| lane))
            }
            _ => Ok(None),
        }
    }

    fn keep_result(&self, settlement: &Settlement) -> Outcome<Kept> {
        let Some(result) = &settlement.decision.result else { return Ok(Kept { summary: None, attachment: None }) };
        let (summary, cut) = summary(result);
        let mut attachment = None;
        if cut {
            self.conn.prepare_cached(sql::ATTACHMENT_INSERT)?.execute(params!["result", result.as_bytes()])?;
            attachment = Some(self.conn.last_insert_rowid());
        }
        Ok(Kept { summary: Some(summary), attachment })
    }

    fn write_record(&mut self, settlement: &Settlement, kept: &Kept) -> Outcome<()> {
        let losses = i64::from(settlement.decision.counts_a_loss());
        let (status, failures, finish_time, next_time) = match settlement.decision.next {
            Next::Final { status, .. } => (status, 0, Some(settlement.finish_time.as_ms()), None),
            Next::Again { due, spends } => {
                (JobStatus::Pending, i64::from(spends == Budget::Failure), None, Some(due.as_ms()))
            }
        };
        self.job_settle.execute(params![
            settlement.held.id.0,
            status.code(),
            failures,
            losses,
            settlement.attempt,
            settlement.held.fence.0,
            // What expired has never begun.
            Some(settlement.start_time.as_ms()).filter(|_| status != JobStatus::Skipped),
            finish_time,
            next_time,
            kept.summary,
            kept.attachment,
            settlement.decision.error,
            self.now.as_ms(),
        ])?;
        Ok(())
    }

    fn write_attempt(&mut self, settlement: &Settlement, status: AttemptStatus, kept: &Kept) -> Outcome<()> {
        self.attempt_end.execute(params![
            settlement.held.id.0,
            settlement.held.fence.0,
            settlement.task.as_str(),
            settlement.attempt,
            settlement.node,
            settlement.start_time.as_ms(),
            settlement.finish_time.as_ms(),
            status.code(),
            settlement.finish_time.ms_since(settlement.start_time).max(0),
            self.now.as_ms(),
            kept.attachment,
            kept.summary,
            settlement.decision.error,
        ])?;
        Ok(())
    }

    /// The fence is gone. An attempt that somebody else ended keeps its end; any other is kept as DISCARDED.
    fn late(&mut self, settlement: &Settlement) -> Outcome<Settled> {
        let Held { id, fence, .. } = settlement.held;
        let row = self
            .conn
            .prepare_cached(sql::ATTEMPT_ENDED)?
            .query_row([id.0, fence.0], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let ended = match row {
            None => None,
            Some((status, finish, error)) => {
                let (finish, error): (Option<i64>, Option<String>) = (finish, error);
                let status = coded("attempt status", status, AttemptStatus::from_code)?;
                Some((status, finish.map(time), error)).filter(|(status, ..)| *status != AttemptStatus::Running)
            }
        };
        match ended {
            Some((status, finish_time, error)) if is_own_end(status, finish_time, error.as_deref(), settlement) => {
                Ok(Settled::AlreadyApplied)
            }
            Some(_) => Ok(Settled::Lost),
            None => {
                // Nobody was ever given a fence past the newest one: such a row would be a lie.
                let newest: Option<i64> =
                    self.conn.prepare_cached(sql::JOB_FENCE)?.query_row([id.0], |row| row.get(0)).optional()?;
                if newest.is_some_and(|newest| fence.0 <= newest) {
                    let kept = self.keep_result(settlement)?;
                    self.write_attempt(settlement, AttemptStatus::Discarded, &kept)?;
                }
                Ok(Settled::Lost)
            }
        }
    }
}

/// The job waits for a person, and people are told: with the outcome or not at all.
pub(super) fn write_death(
    conn: &Connection,
    id: JobId,
    task: &TaskCode,
    cause: DeadCause,
    text: &str,
    now: Timestamp,
) -> Outcome<()> {
    let row = params![id.0, task.as_str(), cause.code(), now.as_ms()];
    conn.prepare_cached(sql::DEAD_INSERT)?.execute(row)?;
    let row = params!["JOB_FAILED", id.0, task.as_str(), text, now.as_ms()];
    conn.prepare_cached(sql::ALERT_INSERT)?.execute(row)?;
    Ok(())
}

fn stop(conn: &Connection, settlement: &Settlement, status: JobStatus, now: Timestamp) -> Outcome<()> {
    let task = &settlement.task;
    let text = stopped_text(task, settlement.held.id, status);
    let stopped = conn.prepare_cached(sql::TASK_STOP)?.execute(params![task.as_str(), now.as_ms(), text])? == 1;
    if stopped {
        let row = params!["TASK_STOPPED", settlement.held.id.0, task.as_str(), text, now.as_ms()];
        conn.prepare_cached(sql::ALERT_INSERT)?.execute(row)?;
        write_audit(conn, now, "system", "disable", &format!("task:{task}"), &text)?;
    }
    Ok(())
}

pub(super) fn write_audit(
    conn: &Connection,
    now: Timestamp,
    who: &str,
    what: &str,
    object: &str,
    detail: &str,
) -> Outcome<()> {
    conn.prepare_cached(sql::AUDIT_INSERT)?.execute(params![now.as_ms(), who, what, object, detail])?;
    Ok(())
}

/// Frees the key of a job that ended otherwise than by settlement.
pub(super) fn free_key(conn: &Connection, id: JobId, task: &TaskCode, biz_id: Option<&BizId>) -> Outcome<()> {
    if let Some(biz_id) = biz_id {
        let row = params![biz_id.as_str(), task.as_str(), id.0];
        conn.prepare_cached(sql::KEY_FREE)?.execute(row)?;
    }
    Ok(())
}
