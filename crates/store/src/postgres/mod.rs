//! What only PostgreSQL has: how one connects to it, what its codes mean, and its statements and migrations.
//!
//! **Invariant:** a batch looks its rows up one by one, whatever the planner believes. Its plans are kept, and in one that was
//! made for a table of ten rows the table comes first: all of it, compared with each of the batch. `id = ANY (ARRAY[b.id])`
//! instead of `id = b.id` leaves it no index to read as a whole, and `IS NOT DISTINCT FROM` none of those that are partial.

mod codes;
mod connect;
pub(crate) mod drop_days;
mod listen;
pub(crate) mod partitions;

use sqlx::Executor as _;
use sqlx::postgres::PgArguments;
use sqlx::{Arguments as _, AssertSqlSafe, PgConnection, Row as _, SqlSafeStr as _};

pub(crate) use codes::class_of;
pub(crate) use connect::{Connector, check_server, weak_settings};

use crate::server::days::Part;
use crate::server::fault::{Fault, Outcome};
use crate::server::kind::BeginWords;
use crate::server::migrate::Migration;
use crate::server::params::{Column, Param};
use crate::server::row::Row;
use crate::server::session::Kept;
use crate::server::statement::Statement;

pub(crate) const BEGIN: BeginWords = BeginWords {
    write: "BEGIN ISOLATION LEVEL READ COMMITTED",
    // Lists and checks are planned each time, for their own values: one plan for all of them would take a rare status for
    // a common one. A check of the whole history joins it as a whole.
    snapshot: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL plan_cache_mode = force_custom_plan;
               SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on",
    // Each connection has that limit, with that of its statements.
    not_quiet_for_long: "",
};

pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { number: 1, min_version: 1, sql: include_str!("migrations/0001_init.sql") },
    Migration { number: 2, min_version: 1, sql: include_str!("migrations/0002_sql_submit.sql") },
];

/// The rows, how many were changed, and no new id: an insert here returns it.
pub(crate) async fn ask(
    conn: &mut PgConnection,
    statement: &'static Statement,
    part: Option<Part>,
    params: &[Param<'_>],
    kept: Kept,
) -> Outcome<(Vec<Row>, u64, u64)> {
    let mut arguments = PgArguments::default();
    for param in params {
        bind(&mut arguments, param)?;
    }
    let (mut rows, mut affected) = (Vec::new(), 0);
    let mut answers = match kept {
        // One message each: nothing can come in between.
        Kept::No if params.is_empty() && part.is_none() => conn.fetch_many(sqlx::raw_sql(statement.postgres)),
        _ => {
            let text = match part {
                None => statement.postgres.into_sql_str(),
                Some(part) => AssertSqlSafe(part.in_text(statement.postgres)).into_sql_str(),
            };
            conn.fetch_many(sqlx::query_with(text, arguments).persistent(kept == Kept::Yes))
        }
    };
    while let Some(answer) = futures_util::TryStreamExt::try_next(&mut answers).await? {
        match answer {
            sqlx::Either::Left(done) => affected += done.rows_affected(),
            sqlx::Either::Right(row) => rows.push(Row::Postgres(row)),
        }
    }
    Ok((rows, affected, 0))
}

pub(crate) async fn command(conn: &mut PgConnection, text: &str) -> Outcome<()> {
    conn.execute(sqlx::raw_sql(AssertSqlSafe(text))).await?;
    Ok(())
}

fn bind(arguments: &mut PgArguments, param: &Param<'_>) -> Outcome<()> {
    let bound = match param {
        Param::Int(number) => arguments.add(number),
        Param::Text(text) => arguments.add(text.as_deref().map(without_nul)),
        Param::Bytes(bytes) => arguments.add(bytes.as_deref()),
        Param::Batch(batch) => batch.columns.iter().try_for_each(|column| match column {
            Column::Ints(numbers) => arguments.add(numbers),
            Column::Texts(texts) => {
                arguments.add(texts.iter().map(|text| text.as_deref().map(without_nul)).collect::<Vec<_>>())
            }
        }),
    };
    bound.map_err(|error| Fault::statement(error.to_string()))
}

/// PostgreSQL keeps no NUL in a text: a sign that a character was lost stands in its place.
fn without_nul(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

/// Text settings of the server, by name.
async fn settings(conn: &mut PgConnection, names: &[&str]) -> Outcome<Vec<String>> {
    let mut values = Vec::with_capacity(names.len());
    for name in names {
        let row = conn.fetch_one(sqlx::raw_sql(AssertSqlSafe(format!("SHOW {name}")))).await?;
        values.push(row.try_get(0)?);
    }
    Ok(values)
}
