//! One connection to a server, whichever it is: run a statement, read rows.
//!
//! **Invariant:** a statement that failed leaves a mark, which only a rollback takes away. A commit with the mark would
//! be a rollback that the server calls a success.

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::JobId;
use sqlx::Connection as _;

use super::days::{Days, Part};
use super::fault::{Class, Fault, Outcome};
use super::kind::BeginWords;
use super::params::{Batch, Param};
use super::row::Row;
use super::statement::Statement;

/// The rows of one statement are at most those of a page or a batch.
#[derive(Debug)]
pub(crate) struct Session {
    conn: Conn,
    /// How long one statement may take before the connection is given up. The server's own time-out is shorter.
    patience: Duration,
    failed: bool,
    /// The days that have partitions: nobody has told it of any where this is none.
    days: Option<Arc<Days>>,
    /// Settings that each transaction is told anew: a pooler in between hands out connections by the transaction. Then
    /// nothing lasts longer, prepared statements neither, and every statement with values is part of a transaction.
    of_each_transaction: Option<String>,
}

/// A closed set: the two kinds of servers.
#[derive(Debug)]
pub(crate) enum Conn {
    #[cfg(feature = "postgres")]
    Postgres(Box<sqlx::PgConnection>),
    #[cfg(feature = "mysql")]
    MySql(Box<sqlx::MySqlConnection>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    Write,
    /// Reads one state of the database.
    Snapshot,
}

/// Does the connection keep its prepared statements?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    Yes,
    No,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    #[cfg(feature = "postgres")]
    Postgres,
    #[cfg(feature = "mysql")]
    MySql,
}

impl Dialect {
    pub(super) fn begin_words(self) -> BeginWords {
        match self {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => crate::postgres::BEGIN,
            #[cfg(feature = "mysql")]
            Dialect::MySql => crate::mysql::BEGIN,
        }
    }
}

/// What a statement answers.
#[derive(Debug, Default)]
struct Answer {
    rows: Vec<Row>,
    affected: u64,
    /// MySQL's, of the last row with an id of its own.
    new_id: u64,
}

impl Session {
    pub(crate) fn new(conn: Conn, patience: Duration) -> Session {
        Session { conn, patience, failed: false, days: None, of_each_transaction: None }
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn pooled(conn: Conn, patience: Duration, settings: String) -> Session {
        Session { of_each_transaction: Some(settings), ..Session::new(conn, patience) }
    }

    pub(super) fn is_pooled(&self) -> bool {
        self.of_each_transaction.is_some()
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn postgres(&mut self) -> Option<&mut sqlx::PgConnection> {
        match &mut self.conn {
            Conn::Postgres(conn) => Some(conn),
            #[cfg(feature = "mysql")]
            Conn::MySql(_) => None,
        }
    }

    #[cfg(feature = "mysql")]
    pub(crate) fn mysql(&mut self) -> Option<&mut sqlx::MySqlConnection> {
        match &mut self.conn {
            Conn::MySql(conn) => Some(conn),
            #[cfg(feature = "postgres")]
            Conn::Postgres(_) => None,
        }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match self.conn {
            #[cfg(feature = "postgres")]
            Conn::Postgres(_) => Dialect::Postgres,
            #[cfg(feature = "mysql")]
            Conn::MySql(_) => Dialect::MySql,
        }
    }

    pub(super) fn learn_days(&mut self, days: Arc<Days>) {
        self.days = Some(days);
    }

    /// The partition that holds all these jobs, when it is one.
    pub(crate) fn part_of(&self, ids: impl IntoIterator<Item = JobId>) -> Option<Part> {
        self.days.as_ref()?.day_of(ids).map(Part::Day)
    }

    /// The same jobs by the partitions that hold them. `None`: those that may be anywhere.
    pub(crate) fn by_part<T>(&self, items: Vec<T>, id_of: impl Fn(&T) -> JobId) -> Vec<(Option<Part>, Vec<T>)> {
        match &self.days {
            Some(days) => {
                days.split(items, id_of).into_iter().map(|(day, items)| (day.map(Part::Day), items)).collect()
            }
            None => vec![(None, items)],
        }
    }

    /// `None`: a list looks at all days at once.
    pub(super) fn back_from(&self, before: JobId, days: i64) -> Option<JobId> {
        self.days.as_ref()?.back_from(before, days)
    }

    /// How many rows it changed. MySQL counts those it found, also when they were as they should be already; PostgreSQL
    /// does so anyway. Never ask it of an insert that may find its row there: see `insert_unless_there`.
    pub(crate) async fn run(&mut self, statement: &'static Statement, params: &[Param<'_>]) -> Outcome<u64> {
        Ok(self.ask(statement, None, params).await?.affected)
    }

    /// `run` for jobs that are in this part of the tables, or anywhere.
    pub(crate) async fn run_in(
        &mut self,
        part: Option<Part>,
        statement: &'static Statement,
        params: &[Param<'_>],
    ) -> Outcome<u64> {
        Ok(self.ask(statement, part, params).await?.affected)
    }

    /// As `run`, for a statement whose first value is a batch, and that does with each of its rows the same: a batch that is
    /// too long for one statement is sent by several.
    pub(crate) async fn run_batch(
        &mut self,
        statement: &'static Statement,
        batch: Batch<'_>,
        others: &[Param<'_>],
    ) -> Outcome<u64> {
        self.run_batch_in(None, statement, batch, others).await
    }

    /// `run_batch` for jobs that are in this part of the tables, or anywhere.
    pub(crate) async fn run_batch_in(
        &mut self,
        part: Option<Part>,
        statement: &'static Statement,
        batch: Batch<'_>,
        others: &[Param<'_>],
    ) -> Outcome<u64> {
        let mut affected = 0;
        for piece in batch.parts() {
            let mut params = vec![Param::from(piece)];
            params.extend_from_slice(others);
            affected += self.run_in(part, statement, &params).await?;
        }
        Ok(affected)
    }

    pub(crate) async fn rows(&mut self, statement: &'static Statement, params: &[Param<'_>]) -> Outcome<Vec<Row>> {
        Ok(self.ask(statement, None, params).await?.rows)
    }

    /// `rows` of jobs that are in this part of the tables, or anywhere.
    pub(crate) async fn rows_in(
        &mut self,
        part: Option<Part>,
        statement: &'static Statement,
        params: &[Param<'_>],
    ) -> Outcome<Vec<Row>> {
        Ok(self.ask(statement, part, params).await?.rows)
    }

    pub(crate) async fn one(&mut self, statement: &'static Statement, params: &[Param<'_>]) -> Outcome<Option<Row>> {
        Ok(self.ask(statement, None, params).await?.rows.into_iter().next())
    }

    pub(crate) async fn exists(&mut self, statement: &'static Statement, params: &[Param<'_>]) -> Outcome<bool> {
        Ok(!self.ask(statement, None, params).await?.rows.is_empty())
    }

    /// The first column of the first row.
    pub(crate) async fn number(&mut self, statement: &'static Statement, params: &[Param<'_>]) -> Outcome<Option<i64>> {
        self.one(statement, params).await?.map_or(Ok(None), |row| row.number(0))
    }

    /// The id that the server gave to the new row. PostgreSQL's text returns it.
    pub(crate) async fn insert(&mut self, statement: &'static Statement, params: &[Param<'_>]) -> Outcome<i64> {
        let answer = self.ask(statement, None, params).await?;
        let id = match self.dialect() {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => answer.rows.first().map_or(Ok(None), |row| row.number(0))?,
            #[cfg(feature = "mysql")]
            Dialect::MySql => i64::try_from(answer.new_id).ok().filter(|id| *id > 0),
        };
        id.ok_or_else(|| Fault::statement(format!("{}: the server gave the row no id", statement.name)))
    }

    async fn ask(
        &mut self,
        statement: &'static Statement,
        part: Option<Part>,
        params: &[Param<'_>],
    ) -> Outcome<Answer> {
        let answered = match &mut self.conn {
            #[cfg(feature = "postgres")]
            Conn::Postgres(conn) => {
                let kept = if self.of_each_transaction.is_some() { Kept::No } else { Kept::Yes };
                within(self.patience, crate::postgres::ask(conn, statement, part, params, kept)).await
            }
            #[cfg(feature = "mysql")]
            Conn::MySql(conn) => within(self.patience, crate::mysql::ask(conn, statement, params)).await,
        };
        self.failed |= answered.is_err();
        let answered = answered.map_err(|fault| self.forget_part(part, fault));
        answered
            .map(|(rows, affected, new_id)| Answer { rows, affected, new_id })
            .map_err(|fault| named(fault, statement.name))
    }

    /// A partition that is there no more: the whole table is asked next.
    fn forget_part(&self, part: Option<Part>, fault: Fault) -> Fault {
        match (part, &self.days) {
            (Some(Part::Day(day)), Some(days)) if fault.class() == Class::Gone => {
                days.forget(day);
                Fault::again(fault.reason())
            }
            _ => fault,
        }
    }

    /// Is it understood? Nothing is done.
    #[cfg(test)]
    pub(crate) async fn prepare(&mut self, statement: &'static Statement) -> Outcome<()> {
        use sqlx::{Executor as _, SqlSafeStr as _};
        match &mut self.conn {
            #[cfg(feature = "postgres")]
            Conn::Postgres(conn) => drop(conn.prepare(statement.postgres.into_sql_str()).await?),
            #[cfg(feature = "mysql")]
            Conn::MySql(conn) => drop(conn.prepare(statement.mysql().text.as_str().into_sql_str()).await?),
        }
        Ok(())
    }

    /// Text without parameters, of one or more statements: transactions, settings, migrations.
    pub(crate) async fn command(&mut self, text: &str) -> Outcome<()> {
        let done = match &mut self.conn {
            #[cfg(feature = "postgres")]
            Conn::Postgres(conn) => within(self.patience, crate::postgres::command(conn, text)).await,
            #[cfg(feature = "mysql")]
            Conn::MySql(conn) => within(self.patience, crate::mysql::command(conn, text)).await,
        };
        self.failed |= done.is_err();
        done
    }

    /// Takes back all that the transaction has written.
    pub(super) async fn begin_again(&mut self) -> Outcome<()> {
        self.command("ROLLBACK").await?;
        self.failed = false;
        self.begin(Begin::Write).await
    }

    pub(super) async fn begin(&mut self, begin: Begin) -> Outcome<()> {
        let words = self.dialect().begin_words();
        let words = match begin {
            Begin::Write => words.write,
            Begin::Snapshot => words.snapshot,
        };
        match &self.of_each_transaction {
            None => self.command(words).await,
            Some(settings) => {
                let text = format!("{words}; {settings}");
                self.command(&text).await
            }
        }
    }

    pub(super) async fn ping(&mut self) -> Outcome<()> {
        match &mut self.conn {
            #[cfg(feature = "postgres")]
            Conn::Postgres(conn) => within(self.patience, async { Ok(conn.ping().await?) }).await,
            #[cfg(feature = "mysql")]
            Conn::MySql(conn) => within(self.patience, async { Ok(conn.ping().await?) }).await,
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// After a rollback.
    pub(super) fn forget_failure(&mut self) {
        self.failed = false;
    }
}

/// A server that says nothing any more must not hold up its caller for ever.
async fn within<T>(patience: Duration, answer: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    match tokio::time::timeout(patience, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(Fault::broken(format!("the server did not answer within {patience:?}"))),
    }
}

/// Whoever reads the message should find the statement.
fn named(fault: Fault, name: &str) -> Fault {
    match fault {
        Fault::Sql { class, reason } => Fault::Sql { class, reason: format!("{name}: {reason}") },
        Fault::Row(reason) => Fault::Row(reason),
    }
}
