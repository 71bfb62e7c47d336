//! From the embedded database to a server: a team that begins with one node and needs several later takes everything along.
//!
//! The source is held alone and recovered as at a start, so that nobody holds a job. What the server could not keep is
//! found before anything is written. Then every row is copied, in the order of its key and in bounded memory, read back,
//! and compared with the row it came from. The target opens for nodes when that and its own check are done; only then the
//! source is marked as moved. Whatever interrupts it before leaves the source as usable as it was.

pub(crate) mod tables;
pub(crate) mod value;

use std::path::Path;

use mainspring_model::Clock;

use crate::server::import::{Bounds, Import};
use crate::sqlite::export::Export;
use crate::{OpenError, StoreError, Violation, without_secrets};
use tables::{TABLES, Table};
use value::{Nul, Row, bytes_of, fit, key_of, misfit};

/// One batch is one transaction of the target, and what is kept in memory.
const BATCH_ROWS_MAX: usize = 1_000;
/// It ends with the row that reaches it: a row is at most as large as a payload or a result.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// What to do with a target in which an import is unfinished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Refuse it.
    Fresh,
    /// Remove what is there, and begin anew.
    Anew,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Can the target keep it?
    Check,
    Copy,
    /// Is it there as it was?
    Compare,
}

/// So many rows of a table are done, of so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub stage: Stage,
    pub table: &'static str,
    pub rows: u64,
    /// `None`: they are counted by this stage.
    pub of: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    pub from: String,
    /// Without secrets.
    pub to: String,
    pub tables: Vec<MovedTable>,
    /// Texts for people in which a sign for a lost character stands for each NUL: PostgreSQL stores none.
    pub without_nul: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedTable {
    pub name: &'static str,
    pub rows: u64,
    /// Of their values.
    pub bytes: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Nothing was written.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The target stays marked as unfinished.
    #[error("{0}: the source is as it was; run it again with --restart")]
    Differs(String),
}

type Result<T> = std::result::Result<T, TransferError>;

/// `from` is `sqlite://…`, `to` the URL of a server. `say` hears how far it is, once per batch.
pub async fn transfer(
    from: &str,
    to: &str,
    start: Start,
    clock: &dyn Clock,
    say: &mut dyn FnMut(Progress),
) -> Result<Moved> {
    let path = from.strip_prefix("sqlite://").filter(|path| !path.is_empty()).ok_or_else(|| {
        TransferError::Refused(format!("the source is {}: only sqlite://PATH can be moved", without_secrets(from)))
    })?;
    if !["postgres://", "postgresql://", "mysql://", "mariadb://"].iter().any(|scheme| to.starts_with(scheme)) {
        let text = format!("the target is {}: it must be postgres://… or mysql://…", without_secrets(to));
        return Err(TransferError::Refused(text));
    }
    let source = Export::open(Path::new(path), clock.now())?;
    let mut target = Import::open(to, start, &format!("sqlite://{}", source.place), clock.now()).await?;
    source.recover(clock.now())?;
    refuse_violations(&source.place, source.verify()?)?;
    let bounds = target.bounds().await?;
    let mut moved = check(&source, &bounds, say)?;
    moved.to = target.place.clone();

    target.begin(start).await?;
    for of_table in TABLES.iter().zip(&moved.tables) {
        copy(&source, &mut target, of_table, bounds.nul, say).await?;
    }
    for table in TABLES.iter().filter(|table| table.gives_ids) {
        target.ids_after(table, source.newest_id(table)?).await?;
    }
    for of_table in TABLES.iter().zip(&moved.tables) {
        compare(&source, &mut target, of_table, bounds.nul, say).await?;
    }
    if let Some(violation) = target.verify().await?.first() {
        let text = format!("the check of {} says {}: {}", target.place, violation.invariant, violation.detail);
        return Err(TransferError::Differs(text));
    }
    target.finish().await?;
    source.mark_moved(&target.place, clock.now())?;
    Ok(moved)
}

/// Damage is not carried on.
fn refuse_violations(place: &str, violations: Vec<Violation>) -> Result<()> {
    match violations.first() {
        None => Ok(()),
        Some(first) => {
            let (count, Violation { invariant, detail }) = (violations.len(), first);
            let text = format!("{place} has {count} violations, the first: {invariant}: {detail}; nothing was written");
            Err(TransferError::Refused(text))
        }
    }
}

/// Everything once, before anything is written.
fn check(source: &Export, bounds: &Bounds, say: &mut dyn FnMut(Progress)) -> Result<Moved> {
    let mut tables = Vec::with_capacity(TABLES.len());
    let mut without_nul = 0;
    for table in &TABLES {
        let chars_max: Vec<_> = table.columns.iter().map(|column| bounds.chars_max(table.name, column.to)).collect();
        let (mut rows, mut bytes) = (0, 0);
        let mut reading = source.rows(table)?;
        let mut batches = reading.batches(table)?;
        loop {
            let mut batch = batches.next(BATCH_ROWS_MAX, BATCH_BYTES_MAX)?;
            if batch.is_empty() {
                break;
            }
            for row in &mut batch {
                bytes += bytes_of(row) as u64;
                refuse_misfit(table, row, bounds.nul, &chars_max)?;
                without_nul += fit_row(table, row, bounds.nul);
            }
            rows += batch.len() as u64;
            say(Progress { stage: Stage::Check, table: table.name, rows, of: None });
        }
        tables.push(MovedTable { name: table.name, rows, bytes });
    }
    Ok(Moved { from: format!("sqlite://{}", source.place), to: String::new(), tables, without_nul })
}

fn refuse_misfit(table: &Table, row: &Row, nul: Nul, chars_max: &[Option<usize>]) -> Result<()> {
    for ((value, column), chars_max) in row.iter().zip(table.columns).zip(chars_max) {
        if let Some(why) = misfit(value, column, nul, *chars_max) {
            let (key, table, column) = (key_of(row, table.key), table.name, column.from);
            let text = format!("{table}.{column} of row ({key}) {why}; nothing was written");
            return Err(TransferError::Refused(text));
        }
    }
    Ok(())
}

/// How many of its texts have lost a character.
fn fit_row(table: &Table, row: &mut Row, nul: Nul) -> u64 {
    row.iter_mut().zip(table.columns).map(|(value, column)| u64::from(fit(value, column, nul))).sum()
}

async fn copy(
    source: &Export,
    target: &mut Import,
    (table, found): (&Table, &MovedTable),
    nul: Nul,
    say: &mut dyn FnMut(Progress),
) -> Result<()> {
    let mut reading = source.rows(table)?;
    let mut batches = reading.batches(table)?;
    let mut rows = 0;
    loop {
        let mut batch = batches.next(BATCH_ROWS_MAX, BATCH_BYTES_MAX)?;
        if batch.is_empty() {
            return Ok(());
        }
        for row in &mut batch {
            fit_row(table, row, nul);
        }
        target.write(table, &batch).await?;
        rows += batch.len() as u64;
        say(Progress { stage: Stage::Copy, table: table.name, rows, of: Some(found.rows) });
    }
}

/// Each batch with what the target has between its first and its last key, row by row, and how many rows there are in all.
async fn compare(
    source: &Export,
    target: &mut Import,
    (table, found): (&Table, &MovedTable),
    nul: Nul,
    say: &mut dyn FnMut(Progress),
) -> Result<()> {
    let mut reading = source.rows(table)?;
    let mut batches = reading.batches(table)?;
    let mut rows = 0;
    loop {
        let mut batch = batches.next(BATCH_ROWS_MAX, BATCH_BYTES_MAX)?;
        let (Some(first), Some(last)) = (batch.first(), batch.last()) else { break };
        let there = target.read(table, first, last).await?;
        for row in &mut batch {
            fit_row(table, row, nul);
        }
        if let Some(difference) = difference(table, &batch, &there) {
            return Err(TransferError::Differs(format!("{} in {}: {difference}", table.name, target.place)));
        }
        rows += batch.len() as u64;
        say(Progress { stage: Stage::Compare, table: table.name, rows, of: Some(found.rows) });
    }
    let there = target.count(table).await?;
    if there != rows {
        let text = format!("{} has {rows} rows, and {there} in {}", table.name, target.place);
        return Err(TransferError::Differs(text));
    }
    Ok(())
}

/// The first one.
fn difference(table: &Table, here: &[Row], there: &[Row]) -> Option<String> {
    for (row, other) in here.iter().zip(there) {
        let columns = row.iter().zip(other).zip(table.columns);
        if let Some(((value, other), column)) = columns.into_iter().find(|((value, other), _)| value != other) {
            return Some(format!("{} of row ({}) is {other}, not {value}", column.to, key_of(row, table.key)));
        }
    }
    (here.len() != there.len()).then(|| format!("{} rows where there should be {}", there.len(), here.len()))
}
