//! What SQLite allows.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use rusqlite::{Connection, params};

use super::{EACH, PAYLOAD};
use crate::figures::Figures;

const GROUP_MAX: usize = 1_000;
const COMPLETED: usize = 500_000;

const TABLE: &str = "
    CREATE TABLE job (id INTEGER PRIMARY KEY, type TEXT NOT NULL, status INTEGER NOT NULL DEFAULT 0,
        priority INTEGER NOT NULL DEFAULT 0, run_at INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
        fence INTEGER NOT NULL DEFAULT 1, payload TEXT, error TEXT, created INTEGER NOT NULL, finished INTEGER);
    CREATE INDEX job_due ON job (priority, run_at, id) WHERE status = 0;";
const INSERT: &str = "INSERT INTO job (type, status, run_at, payload, created) VALUES ('noop', ?1, ?2, ?3, ?2)";
const COMPLETE: &str = "UPDATE job SET status = 2, finished = ?2 WHERE id = ?1 AND status = 1 AND fence = 1";

pub(super) fn measure(dir: &Path, figures: &mut Figures) -> Result<()> {
    figures.set("group_commit_per_s", group_commit(dir, 64)?);
    figures.set("rows_5000_per_s", rows_5000(dir)?);
    figures.set("complete_500_per_s", complete_500(dir)?);
    Ok(())
}

fn open(dir: &Path, name: &str) -> Result<Connection> {
    let conn = Connection::open(dir.join(name)).context("opening a database")?;
    conn.pragma_update(None, "journal_mode", "WAL")?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.execute_batch(TABLE)?;
    Ok(conn)
}

fn insert(conn: &mut Connection, rows: usize, status: i64) -> Result<()> {
    let transaction = conn.transaction()?;
    let mut statement = transaction.prepare_cached(INSERT)?;
    for row in 0..rows {
        statement.execute(params![status, i64::try_from(row)?, PAYLOAD])?;
    }
    drop(statement);
    Ok(transaction.commit()?)
}

fn rows_5000(dir: &Path) -> Result<f64> {
    let mut conn = open(dir, "rows.db")?;
    let (began, mut rows) = (Instant::now(), 0_u32);
    while began.elapsed() < EACH {
        insert(&mut conn, 5_000, 0)?;
        rows += 5_000;
    }
    Ok(f64::from(rows) / began.elapsed().as_secs_f64())
}

/// How long it takes to insert so many rows, `per_commit` a commit.
pub(crate) fn rows_s(dir: &Path, rows: usize, per_commit: usize) -> Result<f64> {
    let mut conn = open(dir, "as_many.db")?;
    let (began, mut left) = (Instant::now(), rows);
    while left > 0 {
        let portion = left.min(per_commit);
        insert(&mut conn, portion, 0)?;
        left -= portion;
    }
    Ok(began.elapsed().as_secs_f64())
}

/// What a settle must do at least, 500 a commit: the row changes only under the fence that was given out.
fn complete_500(dir: &Path) -> Result<f64> {
    let mut conn = open(dir, "complete.db")?;
    insert(&mut conn, COMPLETED, 1)?;
    let (began, mut done) = (Instant::now(), 0_i64);
    while began.elapsed() < EACH && done + 500 <= i64::try_from(COMPLETED)? {
        let transaction = conn.transaction()?;
        let mut statement = transaction.prepare_cached(COMPLETE)?;
        for id in done + 1..=done + 500 {
            anyhow::ensure!(statement.execute([id, 5])? == 1, "row {id} was not completed");
        }
        drop(statement);
        transaction.commit()?;
        done += 500;
    }
    Ok(done as f64 / began.elapsed().as_secs_f64())
}

/// Threads hand single rows to one writer, which commits whatever has gathered, and wait for their commit.
fn group_commit(dir: &Path, submitters: usize) -> Result<f64> {
    let mut conn = open(dir, "group.db")?;
    let (to_writer, rows) = sync_channel::<SyncSender<()>>(4_096);
    let began = Instant::now();
    std::thread::scope(|scope| {
        let submitter = |to_writer: SyncSender<SyncSender<()>>| {
            move || {
                let (answer, answered) = sync_channel(1);
                let mut acks = 0_u32;
                while began.elapsed() < EACH && to_writer.send(answer.clone()).is_ok() && answered.recv().is_ok() {
                    acks += 1;
                }
                acks
            }
        };
        let threads: Vec<_> = (0..submitters).map(|_| scope.spawn(submitter(to_writer.clone()))).collect();
        drop(to_writer);
        write_groups(&mut conn, &rows)?;
        let mut acks = 0;
        for thread in threads {
            acks += thread.join().map_err(|_| anyhow!("a submitter panicked"))?;
        }
        Ok(f64::from(acks) / began.elapsed().as_secs_f64())
    })
}

fn write_groups(conn: &mut Connection, rows: &Receiver<SyncSender<()>>) -> Result<()> {
    while let Ok(first) = rows.recv() {
        let transaction = conn.transaction()?;
        let mut statement = transaction.prepare_cached(INSERT)?;
        let mut group = vec![first];
        let mut written = 0;
        while written < group.len() {
            statement.execute(params![0, 1, PAYLOAD])?;
            written += 1;
            // Rows are taken in while others are written: the group grows until nobody waits.
            while group.len() < GROUP_MAX
                && let Ok(next) = rows.try_recv()
            {
                group.push(next);
            }
        }
        drop(statement);
        transaction.commit()?;
        for answer in group {
            answer.send(()).context("a submitter is gone")?;
        }
    }
    Ok(())
}
