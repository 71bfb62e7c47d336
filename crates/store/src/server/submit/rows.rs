//! The rows of new jobs, for a whole batch at once: records, queue rows, payloads that are too long for them, keys.

use mainspring_model::job::{Lane, SkipReason};
use mainspring_model::{BizId, Incarnation, JobId, JobStatus, QueueState, TaskCode, Timestamp, Unique, limits};

use crate::rules::lane_code;
use crate::server::fault::Outcome;
use crate::server::lanes::key_of;
use crate::server::params::{Batch, Column, params};
use crate::server::row::{Columns, Row};
use crate::server::session::Session;
use crate::server::sql;
use crate::{NewJob, Submitted};

/// A job that is to be stored.
#[derive(Debug)]
pub(in crate::server) struct NewRow<'j> {
    pub(in crate::server) job: &'j NewJob,
    pub(in crate::server) beginning: Beginning,
    attachment: Option<i64>,
}

/// How a record begins.
#[derive(Debug)]
pub(in crate::server) enum Beginning {
    Queued { lane: Option<Lane>, claimed: bool },
    Skipped { reason: SkipReason, words: String },
}

impl<'j> NewRow<'j> {
    pub(in crate::server) fn new(job: &'j NewJob, beginning: Beginning) -> NewRow<'j> {
        NewRow { job, beginning, attachment: None }
    }

    pub(in crate::server) fn is_claimed(&self) -> bool {
        matches!(self.beginning, Beginning::Queued { claimed: true, .. })
    }

    fn skip(&self) -> Option<(SkipReason, &str)> {
        match &self.beginning {
            Beginning::Skipped { reason, words } => Some((*reason, words)),
            Beginning::Queued { .. } => None,
        }
    }

    fn lane(&self) -> Option<&Lane> {
        match &self.beginning {
            Beginning::Queued { lane, .. } => lane.as_ref(),
            Beginning::Skipped { .. } => None,
        }
    }

    /// Most are: their statement has the fewest columns.
    fn is_plain(&self) -> bool {
        let job = self.job;
        job.fires.is_none() && job.concurrency_key.is_none() && job.shard.is_none() && self.skip().is_none()
    }
}

fn ints<'r, 'j, T>(items: &'r [T], of: impl Fn(&'r T) -> Option<i64>) -> Column<'j> {
    Column::Ints(items.iter().map(of).collect())
}

fn texts<'r, T>(items: &'r [T], of: impl Fn(&'r T) -> Option<&'r str>) -> Column<'r> {
    Column::Texts(items.iter().map(|item| of(item).map(Into::into)).collect())
}

/// `false` when an id is stored already: then the transaction has written half of it.
pub(in crate::server) async fn insert(
    session: &mut Session,
    owner: Incarnation,
    rows: &mut [NewRow<'_>],
) -> Outcome<bool> {
    if rows.is_empty() {
        return Ok(true);
    }
    for row in rows.iter_mut() {
        if let Some(payload) = row.job.payload.as_deref().filter(|text| text.len() > limits::PAYLOAD_INLINE_BYTES_MAX) {
            let attachment = params!["payload", payload.as_bytes()];
            row.attachment = Some(session.insert(&sql::ATTACHMENT_INSERT, &attachment).await?);
        }
    }
    let inserted = insert_records(session, rows).await?;
    if inserted != rows.len() as u64 {
        return Ok(false);
    }
    let queued: Vec<&NewRow<'_>> = rows.iter().filter(|row| row.skip().is_none()).collect();
    insert_queue_rows(session, owner, &queued).await?;
    Ok(true)
}

/// Takes back what `insert` wrote besides the record of one job that was there already.
pub(in crate::server) async fn detach(session: &mut Session, row: &NewRow<'_>) -> Outcome<()> {
    match row.attachment {
        Some(id) => session.run(&sql::ATTACHMENT_DELETE, &params![id]).await.map(drop),
        None => Ok(()),
    }
}

async fn insert_records(session: &mut Session, rows: &[NewRow<'_>]) -> Outcome<u64> {
    let mut columns = vec![
        ints(rows, |row| Some(row.job.id.0)),
        texts(rows, |row| Some(row.job.task.as_str())),
        texts(rows, |row| Some(row.job.pool.as_str())),
        ints(rows, |row| Some(row.job.trigger.code())),
        ints(rows, |row| Some(row.job.priority.code())),
        ints(rows, |row| Some(row.job.unique.code())),
        texts(rows, |row| row.job.biz_id.as_ref().map(BizId::as_str)),
        ints(rows, |row| Some(row.job.max_retry.into())),
        ints(rows, |row| Some(row.is_claimed().into())),
        ints(rows, |row| Some(row.job.execute_time.as_ms())),
        ints(rows, |row| row.job.timeout_ms),
        ints(rows, |row| row.attachment),
        ints(rows, |row| Some(row.job.create_time.as_ms())),
        texts(rows, |row| row.job.payload.as_deref().filter(|_| row.attachment.is_none())),
    ];
    let part = session.part_of(rows.iter().map(|row| row.job.id));
    if rows.iter().all(NewRow::is_plain) {
        return session.run_batch_in(part, &sql::JOBS_INSERT, Batch { columns }, &[]).await;
    }
    let made = |row: &NewRow<'_>| row.job.create_time.as_ms();
    let status = |row: &NewRow<'_>| row.skip().map_or(JobStatus::Pending, |_| JobStatus::Skipped).code();
    columns.extend([
        texts(rows, |row| row.job.concurrency_key.as_deref()),
        ints(rows, |row| row.job.fires.map(|fires| fires.last.as_ms())),
        ints(rows, |row| row.job.fires.map(|fires| fires.first.as_ms())),
        ints(rows, |row| row.job.fires.map(|fires| fires.count.into())),
        ints(rows, |row| Some(status(row))),
        ints(rows, |row| row.skip().map(|(reason, _)| reason.code())),
        ints(rows, |row| row.skip().map(|_| made(row))),
        texts(rows, |row| row.skip().map(|(_, words)| words)),
        ints(rows, |row| row.job.shard.map(|shard| shard.index.into())),
        ints(rows, |row| row.job.shard.map(|shard| shard.total.into())),
    ]);
    session.run_batch_in(part, &sql::JOBS_INSERT_FIRED, Batch { columns }, &[]).await
}

async fn insert_queue_rows(session: &mut Session, owner: Incarnation, rows: &[&NewRow<'_>]) -> Outcome<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let state = |claimed| if claimed { QueueState::Claimed } else { QueueState::Queued };
    let mut columns = vec![
        ints(rows, |row| Some(row.job.id.0)),
        texts(rows, |row| Some(row.job.task.as_str())),
        texts(rows, |row| Some(row.job.pool.as_str())),
        ints(rows, |row| Some(row.job.priority.code())),
        ints(rows, |row| Some(row.job.execute_time.as_ms())),
        ints(rows, |row| Some(row.is_claimed().into())),
        ints(rows, |row| row.is_claimed().then_some(owner.0)),
        ints(rows, |row| Some(state(row.is_claimed()).code())),
    ];
    let mut statement = &sql::QUEUE_INSERT;
    if rows.iter().any(|row| row.lane().is_some()) {
        columns.push(ints(rows, |row| Some(lane_code(row.lane()))));
        columns.push(texts(rows, |row| row.lane().map(key_of)));
        statement = &sql::QUEUE_INSERT_LANE;
    }
    session.run_batch(statement, Batch { columns }, &[]).await.map(drop)
}

/// A key, and the job that asks for it.
#[derive(Debug, Clone, Copy)]
pub(in crate::server) struct Wanted<'k> {
    pub(in crate::server) key: &'k BizId,
    pub(in crate::server) task: &'k TaskCode,
    pub(in crate::server) job: JobId,
    pub(in crate::server) unique: Unique,
}

impl<'k> Wanted<'k> {
    /// What a new job asks for.
    pub(in crate::server) fn by(job: &'k NewJob) -> Option<Wanted<'k>> {
        let key = job.biz_id.as_ref()?;
        Some(Wanted { key, task: &job.task, job: job.id, unique: job.unique })
    }
}

/// A key that another job has.
#[derive(Debug)]
pub(in crate::server) struct Taken {
    pub(in crate::server) by: JobId,
    pub(in crate::server) holder: JobId,
    /// The record of the holder, once it is written: status, execute time, payload, attachment.
    pub(in crate::server) record: Option<Record>,
    /// The job that asks was stored by an earlier try.
    pub(in crate::server) is_stored: bool,
}

#[derive(Debug)]
pub(in crate::server) struct Record {
    pub(in crate::server) status: i64,
    pub(in crate::server) execute_time: Timestamp,
    pub(in crate::server) payload: Option<String>,
    pub(in crate::server) attachment: Option<i64>,
}

/// Takes keys, each for the first that asks for it, and says which are others'. Keys are taken in one order, so that two
/// who want the same ones never wait for each other.
///
/// `None`: a key became free just now. Whoever looks again may have it.
pub(in crate::server) async fn take_keys(
    session: &mut Session,
    mut wanted: Vec<Wanted<'_>>,
) -> Outcome<Option<Vec<Taken>>> {
    if wanted.is_empty() {
        return Ok(Some(Vec::new()));
    }
    wanted.sort_by_key(|wanted| (wanted.task, wanted.key));
    if insert_keys(session, &wanted).await? == wanted.len() as u64 {
        return Ok(Some(Vec::new()));
    }
    let mut rows = Vec::new();
    for part in (Batch { columns: key_columns(&wanted).to_vec() }).parts() {
        rows.extend(session.rows(&sql::KEYS_TAKEN, &params![part]).await?);
    }
    rows.iter().map(taken).collect()
}

/// How many were free, and are taken now.
pub(in crate::server) async fn insert_keys(session: &mut Session, wanted: &[Wanted<'_>]) -> Outcome<u64> {
    let mut columns = key_columns(wanted).to_vec();
    columns.push(ints(wanted, |wanted| Some((wanted.unique == Unique::Live).into())));
    session.run_batch(&sql::KEYS_INSERT, Batch { columns }, &[]).await
}

fn key_columns<'w>(wanted: &'w [Wanted<'_>]) -> [Column<'w>; 3] {
    [
        texts(wanted, |wanted| Some(wanted.key.as_str())),
        texts(wanted, |wanted| Some(wanted.task.as_str())),
        ints(wanted, |wanted| Some(wanted.job.0)),
    ]
}

fn taken(row: &Row) -> Outcome<Option<Taken>> {
    let mut c = Columns::of(row);
    let (by, holder) = (JobId(c.int()?), c.opt_int()?.map(JobId));
    let (status, execute_time) = (c.opt_int()?, c.opt_time()?);
    let (payload, attachment, own) = (c.opt_string()?, c.opt_int()?, c.opt_int()?);
    let record = status.zip(execute_time);
    let record = record.map(|(status, execute_time)| Record { status, execute_time, payload, attachment });
    Ok(holder.map(|holder| Taken { by, holder, record, is_stored: own.is_some() }))
}

/// Counts submits that were answered with other jobs: `answered` are those jobs, and when.
pub(in crate::server) async fn count_duplicates(
    session: &mut Session,
    answered: impl IntoIterator<Item = (JobId, Timestamp)>,
) -> Outcome<()> {
    let mut counts = std::collections::BTreeMap::new();
    for (holder, time) in answered {
        let (times, last) = counts.entry(holder).or_insert((0_i64, time));
        *times += 1;
        *last = time;
    }
    if counts.is_empty() {
        return Ok(());
    }
    for (part, counts) in session.by_part(counts.into_iter().collect(), |(holder, _)| *holder) {
        let columns = vec![
            ints(&counts, |(holder, _)| Some(holder.0)),
            ints(&counts, |(_, (times, _))| Some(*times)),
            ints(&counts, |(_, (_, last))| Some(last.as_ms())),
        ];
        session.run_in(part, &sql::JOBS_DUPLICATE, &params![Batch { columns }]).await?;
    }
    Ok(())
}

/// The answer of the first try, without the names of those that it replaced.
pub(in crate::server) fn stored(claimed: bool) -> Submitted {
    Submitted::Stored { claimed, replaced: Vec::new() }
}
