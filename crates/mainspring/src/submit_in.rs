//! Submit inside the transaction of the application that embeds this library, on PostgreSQL and MySQL: the job is stored
//! when the application commits, and was never there when it rolls back.
//!
//! ```no_run
//! # async fn order(pool: mainspring::sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
//! let mut transaction = pool.begin().await?;
//! mainspring::sqlx::query("INSERT INTO orders (id) VALUES (42)").execute(&mut *transaction).await?;
//! let job = mainspring::JobRequest::new("mail.welcome".parse()?).payload_json(r#"{"order": 42}"#)?;
//! mainspring::submit_in(&mut *transaction, &job).await?;
//! transaction.commit().await?;
//! # Ok(())
//! # }
//! ```

use mainspring_engine::{JobRequest, When};
use mainspring_store::{ApplicationTransaction, SubmitIn, SubmitInError, SubmittedIn};

/// Nodes need not run in this process. A refusal says why; PostgreSQL gives up the transaction with it.
pub async fn submit_in(
    transaction: impl Into<ApplicationTransaction<'_>>,
    request: &JobRequest,
) -> Result<SubmittedIn, SubmitInError> {
    let (at, delay) = match request.when {
        When::Now => (None, None),
        When::At(instant) => (Some(instant), None),
        When::After(span) => (None, Some(span)),
    };
    let job = SubmitIn {
        task: request.task.clone(),
        payload: request.payload.clone(),
        biz_id: request.biz_id.as_ref().map(|key| key.as_str().to_owned()),
        unique: request.unique,
        at,
        delay,
        priority: request.priority,
        max_retry: request.max_retry,
        timeout: request.timeout,
    };
    mainspring_store::submit_in(transaction, &job).await
}
