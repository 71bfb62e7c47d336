//! Submit inside the transaction of an application: calls the procedure that the schema brings (`0002_sql_submit.sql`),
//! which makes the checks of the REST interface.

use mainspring_model::{Code, JobId, Priority, Refused, Span, TaskCode, Timestamp, Unique};

/// A transaction of the application, or a connection on which one is open. It must be in the database of Mainspring.
#[derive(Debug)]
pub enum ApplicationTransaction<'c> {
    #[cfg(feature = "postgres")]
    Postgres(&'c mut sqlx::PgConnection),
    #[cfg(feature = "mysql")]
    MySql(&'c mut sqlx::MySqlConnection),
}

#[cfg(feature = "postgres")]
impl<'c> From<&'c mut sqlx::PgConnection> for ApplicationTransaction<'c> {
    fn from(connection: &'c mut sqlx::PgConnection) -> Self {
        ApplicationTransaction::Postgres(connection)
    }
}

#[cfg(feature = "mysql")]
impl<'c> From<&'c mut sqlx::MySqlConnection> for ApplicationTransaction<'c> {
    fn from(connection: &'c mut sqlx::MySqlConnection) -> Self {
        ApplicationTransaction::MySql(connection)
    }
}

/// What is to be done, as the caller says it: what it leaves out the task says.
#[derive(Debug, Clone)]
pub struct SubmitIn {
    pub task: TaskCode,
    pub payload: Option<std::sync::Arc<str>>,
    pub biz_id: Option<String>,
    pub unique: Unique,
    pub at: Option<Timestamp>,
    pub delay: Option<Span>,
    pub priority: Option<Priority>,
    pub max_retry: Option<u32>,
    pub timeout: Option<Span>,
}

/// It counts when the application commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubmittedIn {
    pub id: JobId,
    /// The key was taken: `id` is the first job, and nothing new was stored.
    pub duplicate: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum SubmitInError {
    /// PostgreSQL has given the transaction up with it, as with any error of a statement.
    #[error(transparent)]
    Refused(Refused),
    #[error(transparent)]
    Database(sqlx::Error),
}

pub async fn submit_in(
    transaction: impl Into<ApplicationTransaction<'_>>,
    job: &SubmitIn,
) -> Result<SubmittedIn, SubmitInError> {
    let stored = match transaction.into() {
        #[cfg(feature = "postgres")]
        ApplicationTransaction::Postgres(connection) => in_postgres(connection, job).await,
        #[cfg(feature = "mysql")]
        ApplicationTransaction::MySql(connection) => in_mysql(connection, job).await,
    };
    stored.map_err(|error| refusal(&error).map_or(SubmitInError::Database(error), SubmitInError::Refused))
}

#[cfg(feature = "postgres")]
async fn in_postgres(connection: &mut sqlx::PgConnection, job: &SubmitIn) -> Result<SubmittedIn, sqlx::Error> {
    const CALL: &str = "SELECT id, duplicate FROM mainspring_submit($1, $2, $3, $4,
        to_timestamp($5::double precision / 1000), $6 * interval '1 millisecond', $7, $8, $9)";
    let called = sqlx::query_as(CALL)
        .bind(job.task.as_str())
        .bind(job.payload.as_deref())
        .bind(job.biz_id.as_deref())
        .bind(job.unique.as_str())
        .bind(job.at.map(Timestamp::as_ms))
        .bind(job.delay.map(Span::as_ms))
        .bind(job.priority.map(Priority::as_str))
        .bind(job.max_retry.map(i64::from).map(|count| i32::try_from(count).unwrap_or(i32::MAX)))
        .bind(job.timeout.map(timeout_seconds))
        .fetch_one(connection);
    let (id, duplicate): (i64, bool) = called.await?;
    Ok(SubmittedIn { id: JobId(id), duplicate })
}

#[cfg(feature = "mysql")]
async fn in_mysql(connection: &mut sqlx::MySqlConnection, job: &SubmitIn) -> Result<SubmittedIn, sqlx::Error> {
    let said = [
        ("bizId", job.biz_id.as_deref().map(serde_json::Value::from)),
        ("unique", Some(job.unique.as_str().into())),
        ("executeTime", job.at.map(|at| at.as_ms().into())),
        ("delayMs", job.delay.map(|delay| delay.as_ms().into())),
        ("priority", job.priority.map(|priority| priority.as_str().into())),
        ("maxRetry", job.max_retry.map(Into::into)),
        ("timeoutSeconds", job.timeout.map(|timeout| timeout_seconds(timeout).into())),
    ];
    let options: serde_json::Map<String, serde_json::Value> =
        said.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    sqlx::query("CALL mainspring_submit(?, ?, ?, @mainspring_id, @mainspring_duplicate)")
        .bind(job.task.as_str())
        .bind(job.payload.as_deref())
        .bind(serde_json::Value::Object(options).to_string())
        .execute(&mut *connection)
        .await?;
    let answer = "SELECT CAST(@mainspring_id AS SIGNED), CAST(@mainspring_duplicate AS SIGNED)";
    let (id, duplicate): (i64, i64) = sqlx::query_as(answer).fetch_one(connection).await?;
    Ok(SubmittedIn { id: JobId(id), duplicate: duplicate != 0 })
}

/// The procedure knows whole seconds; a time-out is never shorter than what was said.
fn timeout_seconds(timeout: Span) -> i32 {
    i32::try_from((timeout.as_ms() + 999) / 1_000).unwrap_or(i32::MAX)
}

/// The procedure says by its SQLSTATE that it refuses.
fn refusal(error: &sqlx::Error) -> Option<Refused> {
    let said = error.as_database_error()?;
    let code = match said.code()?.as_ref() {
        "MS404" => Code::TaskNotFound,
        "MS409" => Code::TaskDisabled,
        "MS422" => Code::Validation,
        _ => return None,
    };
    Some(Refused::new(code, said.message().to_owned()))
}
