//! A database on a server as the target of a move: empty at first, marked while it is filled, read back, and opened for
//! nodes at the end.
//!
//! **Invariants:** the mark is written before the first row and taken away after the last check, so a database with a part
//! of the rows opens for nobody; each batch is a transaction that holds the mark, so of two imports the later one alone
//! goes on.

#[cfg(feature = "postgres")]
mod days;
mod texts;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use mainspring_model::Timestamp;

use super::address::Address;
use super::fault::{Fault, Outcome};
use super::history::History;
use super::kind::Server;
use super::open::{connect, unfinished};
use super::params::{Param, params};
use super::row::{Columns, Row as ServerRow};
use super::session::{Begin, Dialect, Session};
use super::tasks::pins;
use super::{migrate, numbers, sql};
use crate::transfer::tables::{Column, Holds, TABLES, Table};
use crate::transfer::value::{Nul, Row, Value};
use crate::transfer::{Start, TransferError};
use crate::{OpenError, Violation};

use texts::{ROWS, Texts, texts_of};

const VERB: &str = "migrate";

type Result<T> = std::result::Result<T, TransferError>;

#[derive(Debug)]
pub(crate) struct Import {
    session: Session,
    server: Arc<Server>,
    pub(crate) place: String,
    cluster: Option<String>,
    /// The mark of this import and of no other one.
    mark: String,
    /// The days that are kept apart, as far as rows of them came.
    #[cfg(feature = "postgres")]
    days: days::Made,
}

/// What a server cannot keep.
#[derive(Debug)]
pub(crate) struct Bounds {
    pub(crate) nul: Nul,
    /// Characters, by table and column.
    chars_max: BTreeMap<(String, String), usize>,
}

impl Bounds {
    pub(crate) fn chars_max(&self, table: &str, column: &str) -> Option<usize> {
        self.chars_max.get(&(table.to_owned(), column.to_owned())).copied()
    }
}

fn failed(fault: Fault) -> TransferError {
    TransferError::Store(fault.not_applied(VERB))
}

impl Import {
    /// Connects and brings the schema up to date. A database that cannot be a target is left as it is otherwise.
    pub(crate) async fn open(url: &str, start: Start, source: &str, now: Timestamp) -> Result<Import> {
        let address = Address::parse(url)?;
        let server = Arc::new(Server::parse(&address)?);
        let place = server.place();
        let connected = connect(&server).await;
        let mut session = connected.map_err(|fault| fault.unusable(&place))?;
        server.check(&mut session).await?;
        migrate::migrate(&mut session, &server, now.as_ms()).await?;
        let mark = format!("{source}, begun {now} as {:08x}", fastrand::Rng::new().u32(..));
        #[cfg(feature = "postgres")]
        let days = days::Made::by(now);
        let mut import = Import {
            session,
            server,
            place,
            cluster: address.cluster,
            mark,
            #[cfg(feature = "postgres")]
            days,
        };
        import.check_free(start).await?;
        Ok(import)
    }

    /// Nothing in it, or the rest of an import that is to begin anew.
    async fn check_free(&mut self, start: Start) -> Result<()> {
        if let Some(from) = unfinished(&mut self.session).await.map_err(failed)? {
            return match start {
                Start::Anew => Ok(()),
                Start::Fresh => Err(OpenError::Unfinished { place: self.place.clone(), from }.into()),
            };
        }
        for table in &TABLES {
            if self.session.exists(&texts(table)?.any, &[]).await.map_err(failed)? {
                let place = &self.place;
                let text = format!(
                    "database {place} is not empty (there are rows in {}): make an empty one; nothing was changed",
                    table.name
                );
                return Err(TransferError::Refused(text));
            }
        }
        Ok(())
    }

    pub(crate) async fn bounds(&mut self) -> Result<Bounds> {
        let nul = match self.session.dialect() {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => Nul::Lost,
            #[cfg(feature = "mysql")]
            Dialect::MySql => Nul::Kept,
        };
        let rows = self.session.rows(&sql::TEXT_BOUNDS, &[]).await.map_err(failed)?;
        let bound = |row| {
            let mut c = Columns::of(row);
            Ok(((c.string()?, c.string()?), c.count()? as usize))
        };
        let chars_max = rows.iter().map(bound).collect::<Outcome<_>>().map_err(failed)?;
        Ok(Bounds { nul, chars_max })
    }

    /// From here on it opens for nobody else. What an import before has left is removed.
    pub(crate) async fn begin(&mut self, start: Start) -> Result<()> {
        History::open(&mut self.session, &self.server, self.cluster.as_deref()).await?;
        self.session.begin(Begin::Write).await.map_err(failed)?;
        // No node joins meanwhile.
        self.session.rows(&sql::CLUSTER_LOCK, &[]).await.map_err(failed)?;
        self.check_free(start).await?;
        let session = &mut self.session;
        session.run(&sql::IMPORT_BEGIN, &params![self.mark.as_str()]).await.map_err(failed)?;
        session.command("COMMIT").await.map_err(failed)?;
        if start == Start::Anew {
            for table in &TABLES {
                session.command(&format!("TRUNCATE TABLE {}", table.name)).await.map_err(failed)?;
            }
        }
        Ok(())
    }

    /// One transaction.
    pub(crate) async fn write(&mut self, table: &Table, rows: &[Row]) -> Result<()> {
        let texts = texts(table)?;
        #[cfg(feature = "postgres")]
        self.days.of_rows(&mut self.session, table, rows).await.map_err(failed)?;
        self.hold().await?;
        let mut left = rows;
        for (insert, rows_max) in texts.insert.iter().zip(ROWS) {
            while left.len() >= rows_max {
                let (some, others) = left.split_at(rows_max);
                let values: Vec<Param<'_>> =
                    some.iter().flat_map(|row| row.iter().zip(table.columns)).map(param).collect();
                self.session.run(insert, &values).await.map_err(failed)?;
                left = others;
            }
        }
        self.session.command("COMMIT").await.map_err(failed)
    }

    /// Begins a transaction in which no other import can take the place of this one.
    async fn hold(&mut self) -> Result<()> {
        self.session.begin(Begin::Write).await.map_err(failed)?;
        if self.session.exists(&sql::IMPORT_HOLD, &params![self.mark.as_str()]).await.map_err(failed)? {
            return Ok(());
        }
        let text = format!("another import into {} has begun: this one was given up", self.place);
        Err(TransferError::Refused(text))
    }

    /// From the first of these rows to the last, by their keys.
    pub(crate) async fn read(&mut self, table: &Table, first: &Row, last: &Row) -> Result<Vec<Row>> {
        let key: Vec<Param<'_>> = [first, last]
            .into_iter()
            .flat_map(|row| row.iter().zip(table.columns).take(table.key))
            .map(param)
            .collect();
        self.session.begin(Begin::Snapshot).await.map_err(failed)?;
        let rows = self.session.rows(&texts(table)?.range, &key).await.map_err(failed)?;
        self.session.command("COMMIT").await.map_err(failed)?;
        rows.iter().map(|row| read_row(row, table)).collect::<Outcome<_>>().map_err(failed)
    }

    pub(crate) async fn count(&mut self, table: &Table) -> Result<u64> {
        let count = self.session.number(&texts(table)?.count, &[]).await.map_err(failed)?;
        Ok(count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0))
    }

    /// The next row of the table gets a larger one.
    pub(crate) async fn ids_after(&mut self, table: &Table, newest: i64) -> Result<()> {
        let (name, id, next) = (table.name, table.columns[0].to, newest + 1);
        let text = match self.session.dialect() {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => format!("ALTER TABLE {name} ALTER COLUMN {id} RESTART WITH {next}"),
            #[cfg(feature = "mysql")]
            Dialect::MySql => format!("ALTER TABLE {name} AUTO_INCREMENT = {next}"),
        };
        self.session.command(&text).await.map_err(failed)
    }

    pub(crate) async fn verify(&mut self) -> Result<Vec<Violation>> {
        self.session.begin(Begin::Snapshot).await.map_err(failed)?;
        let violations = numbers::verify(&mut self.session).await.map_err(failed)?;
        self.session.command("COMMIT").await.map_err(failed)?;
        Ok(violations)
    }

    /// It opens for nodes now.
    pub(crate) async fn finish(&mut self) -> Result<()> {
        self.hold().await?;
        pins::fill(&mut self.session).await.map_err(failed)?;
        self.session.run(&sql::IMPORT_END, &params![self.mark.as_str()]).await.map_err(failed)?;
        let committed = self.session.command("COMMIT").await;
        committed.map_err(|fault| TransferError::Store(fault.unknown(VERB)))
    }
}

fn texts(table: &Table) -> Result<&'static Texts> {
    texts_of(table).ok_or_else(|| failed(Fault::statement(format!("{} is not moved", table.name))))
}

/// No value has a type as well: that of its column.
fn param<'v>((value, column): (&'v Value, &Column)) -> Param<'v> {
    match (value, column.holds) {
        (Value::Number(number), _) => Param::Int(Some(*number)),
        (Value::Text(text), _) => Param::Text(Some(Cow::Borrowed(text))),
        (Value::Bytes(bytes), _) => Param::Bytes(Some(Cow::Borrowed(bytes))),
        (Value::None, Holds::Number) => Param::Int(None),
        (Value::None, Holds::Exact | Holds::Words) => Param::Text(None),
        (Value::None, Holds::Bytes) => Param::Bytes(None),
    }
}

fn read_row(row: &ServerRow, table: &Table) -> Outcome<Row> {
    let read = |(at, holds)| {
        Ok(match holds {
            Holds::Number => row.number(at)?.map(Value::Number),
            Holds::Exact | Holds::Words => row.text(at)?.map(|text| Value::Text(text.to_owned())),
            Holds::Bytes => row.bytes(at)?.map(|bytes| Value::Bytes(bytes.to_owned())),
        }
        .unwrap_or(Value::None))
    };
    table.columns.iter().map(|column| column.holds).enumerate().map(read).collect()
}
