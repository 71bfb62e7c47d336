//! What is done to the tables directly: a past and a future are written into them faster than any interface could,
//! and what is left in the queue is counted by somebody else than the one who is measured.
//!
//! Only while no engine has the database open.

mod server;
mod sqlite;

use anyhow::{Context, Result};
use mainspring::{JobId, Timestamp};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use crate::args::StoreKind;
use crate::latency::now_us;
use crate::place::Place;

/// A task that has one in a hundred of the finished jobs.
pub(crate) const RARE_TASK: &str = "bench.rare";

/// What a database is filled with beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Fill {
    /// Finished jobs of the last two days with their attempts; one in a thousand failed.
    Finished,
    /// The same of the last two months: older parts of it can go.
    History,
    /// Jobs that are due from tomorrow on.
    Future,
    /// Finished and future ones.
    PastAndFuture,
    /// Jobs that are due; the first ones were in the memory of a node that died.
    Waiting,
}

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// Rows of one transaction.
const PORTION: i64 = 100_000;
const HELD_BY_DEAD_NODE: i64 = 2_000;
const DEAD_INCARNATION: i64 = 4_711;
/// Below the milliseconds in an id: node and sequence.
const ID_BITS: i64 = 22;

/// Jobs that are to be written: their ids as the product makes them, at even steps through a span of time.
#[derive(Debug, Clone, Copy)]
struct Span {
    rows: i64,
    from_ms: i64,
    first_id: i64,
    id_step: i64,
}

impl Span {
    fn new(rows: i64, from_ms: i64, span_ms: i64) -> Span {
        let first_id = JobId::first_at(Timestamp::from_ms(from_ms)).0;
        Span { rows, from_ms, first_id, id_step: (span_ms << ID_BITS) / rows.max(1) }
    }

    /// They end a day ago.
    fn finished(rows: i64, now_ms: i64, days: i64) -> Span {
        Span::new(rows, now_ms - (days + 1) * DAY_MS, days * DAY_MS)
    }

    /// Created within the last hours but one, after all that is finished.
    fn queued(rows: i64, now_ms: i64) -> Span {
        Span::new(rows, now_ms - 3 * HOUR_MS, HOUR_MS)
    }
}

/// One piece of what a database is filled with.
#[derive(Debug, Clone, Copy)]
enum Piece {
    Finished(Span),
    /// The first `held` of them are held by a node that died.
    Queued {
        span: Span,
        due_ms: i64,
        held: i64,
    },
}

fn pieces(fill: Fill, rows: i64, now_ms: i64) -> Vec<Piece> {
    let span = Span::queued(rows, now_ms);
    let past = |days| Piece::Finished(Span::finished(rows, now_ms, days));
    let future = Piece::Queued { span, due_ms: now_ms + DAY_MS, held: 0 };
    match fill {
        Fill::Finished => vec![past(1)],
        Fill::History => vec![past(60)],
        Fill::Future => vec![future],
        Fill::PastAndFuture => vec![past(1), future],
        Fill::Waiting => vec![Piece::Queued { span, due_ms: now_ms - HOUR_MS, held: HELD_BY_DEAD_NODE }],
    }
}

pub(crate) fn fill(place: &Place, fill: Fill, rows: u64) -> Result<()> {
    let now_ms = i64::try_from(now_us() / 1_000)?;
    let pieces = pieces(fill, i64::try_from(rows)?, now_ms);
    match place.store {
        StoreKind::Sqlite => sqlite::fill(place.file()?, &pieces),
        StoreKind::Postgres | StoreKind::Mariadb => server::fill(place, &pieces),
    }
}

fn in_portions(rows: i64, mut write: impl FnMut(i64, i64) -> Result<()>) -> Result<()> {
    let mut from = 0;
    while from < rows {
        let to = (from + PORTION).min(rows);
        write(from, to).with_context(|| format!("filling the rows {from} to {to}"))?;
        from = to;
    }
    Ok(())
}

/// As the server says.
pub(crate) fn database_mib(place: &Place) -> Result<Option<f64>> {
    let question = match place.store {
        StoreKind::Sqlite => return Ok(None),
        StoreKind::Postgres => "SELECT pg_database_size(current_database())",
        StoreKind::Mariadb => {
            "SELECT sum(data_length + index_length) FROM information_schema.tables WHERE table_schema = database()"
        }
    };
    let bytes: f64 = place.sql(question)?.trim().parse().context("reading the size of a database")?;
    Ok(Some(bytes / 1_048_576.0))
}

/// Jobs that are due and not final.
pub(crate) fn left(place: &Place) -> Result<u64> {
    let now_ms = i64::try_from(now_us() / 1_000)?;
    let question = format!("SELECT count(*) FROM job_queue WHERE due <= {now_ms}");
    if place.store != StoreKind::Sqlite {
        return place.sql(&question)?.trim().parse().context("reading a count");
    }
    let conn = Connection::open(place.file()?).context("opening the database to count")?;
    let count: i64 = conn.query_row(&question, [], |row| row.get(0))?;
    Ok(u64::try_from(count)?)
}

#[cfg(test)]
mod tests {
    use mainspring_test_servers::{Kind, shared};

    use super::*;
    use crate::host::Host;

    const FILLS: &[(Fill, u64)] =
        &[(Fill::Finished, 0), (Fill::History, 0), (Fill::PastAndFuture, 0), (Fill::Waiting, 3_000)];

    /// Rows that the product would not have written itself would measure something else.
    async fn check(kind: Fill, expect_left: u64, place: &Place) -> Result<()> {
        Host::start(place, 1).await?.stop().await?;
        fill(place, kind, 3_000)?;
        assert_eq!(left(place)?, expect_left, "{kind:?}");
        let host = Host::start(place, 1).await?;
        host.pause().await?;
        let violations = host.jobs.engine().store().verify().await?;
        assert!(violations.is_empty(), "{kind:?}: {violations:?}");
        host.stop().await
    }

    #[tokio::test]
    async fn filled_tables_of_sqlite_keep_the_invariants_of_the_product() -> Result<()> {
        for (kind, expect_left) in FILLS {
            let dir = tempfile::tempdir()?;
            check(*kind, *expect_left, &Place::sqlite(dir.path())).await?;
        }
        Ok(())
    }

    #[tokio::test]
    async fn filled_tables_of_a_server_keep_the_invariants_of_the_product() -> Result<()> {
        for (kind, store) in [(Kind::Postgres, StoreKind::Postgres), (Kind::MariaDb, StoreKind::Mariadb)] {
            for (fill, expect_left) in FILLS {
                check(*fill, *expect_left, &Place::server(store, shared(kind)?, std::process::id())).await?;
            }
        }
        Ok(())
    }
}
