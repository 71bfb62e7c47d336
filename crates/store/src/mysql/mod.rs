//! What only MySQL and MariaDB have: how one connects to them, what their codes mean, and their statements and migrations.

mod codes;
mod connect;

use sqlx::Executor as _;
use sqlx::mysql::MySqlArguments;
use sqlx::{Arguments as _, AssertSqlSafe, MySqlConnection, Row as _};

pub(crate) use codes::class_of;
pub(crate) use connect::{Connector, byte_collation, check_server, weak_settings};

use crate::server::fault::{Fault, Outcome};
use crate::server::kind::BeginWords;
use crate::server::migrate::Migration;
use crate::server::params::Param;
use crate::server::row::Row;
use crate::server::statement::Statement;

pub(crate) const BEGIN: BeginWords = BeginWords {
    // The session's level is READ COMMITTED.
    write: "START TRANSACTION",
    // Of the next transaction only.
    snapshot: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    not_quiet_for_long: "SET SESSION wait_timeout = 60",
};

pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { number: 1, min_version: 1, sql: include_str!("migrations/0001_init.sql") },
    Migration { number: 2, min_version: 1, sql: include_str!("migrations/0002_sql_submit.sql") },
];

/// The rows, how many were found and changed, and the id of the newest row that was given one.
pub(crate) async fn ask(
    conn: &mut MySqlConnection,
    statement: &'static Statement,
    params: &[Param<'_>],
) -> Outcome<(Vec<Row>, u64, u64)> {
    let rewritten = statement.mysql();
    let mut arguments = MySqlArguments::default();
    for place in &rewritten.order {
        let param = params.get(*place).ok_or_else(|| Fault::statement(format!("${} is not bound", place + 1)))?;
        bind(&mut arguments, param)?;
    }
    let query = sqlx::query_with(rewritten.text.as_str(), arguments);
    let (mut rows, mut affected, mut new_id) = (Vec::new(), 0, 0);
    let mut answers = conn.fetch_many(query);
    while let Some(answer) = futures_util::TryStreamExt::try_next(&mut answers).await? {
        match answer {
            sqlx::Either::Left(done) => {
                affected += done.rows_affected();
                new_id = done.last_insert_id();
            }
            sqlx::Either::Right(row) => rows.push(Row::MySql(row)),
        }
    }
    Ok((rows, affected, new_id))
}

pub(crate) async fn command(conn: &mut MySqlConnection, text: &str) -> Outcome<()> {
    conn.execute(sqlx::raw_sql(AssertSqlSafe(text))).await?;
    Ok(())
}

fn bind(arguments: &mut MySqlArguments, param: &Param<'_>) -> Outcome<()> {
    let bound = match param {
        Param::Int(number) => arguments.add(number),
        Param::Text(text) => arguments.add(text.as_deref()),
        Param::Bytes(bytes) => arguments.add(bytes.as_deref()),
        Param::Batch(batch) => arguments.add(batch.to_json()),
    };
    bound.map_err(|error| Fault::statement(error.to_string()))
}

/// One row of texts; NULL where a variable is not known.
async fn texts<const COLUMNS: usize>(
    conn: &mut MySqlConnection,
    question: &'static str,
) -> Outcome<[Option<String>; COLUMNS]> {
    let row = conn.fetch_one(sqlx::query(question)).await?;
    let mut values = [const { None }; COLUMNS];
    for (at, value) in values.iter_mut().enumerate() {
        *value = row.try_get_unchecked(at)?;
    }
    Ok(values)
}
