//! What the limits of the database servers have in common: a piece of work on one connection, again and again, by one
//! client or by many.

use std::time::Instant;

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use super::EACH;

pub(super) const CLIENTS: usize = 64;
/// Rows of a batch.
pub(super) const BATCH: i64 = 500;
/// Rows that are there to be claimed.
pub(super) const CLAIMABLE: i64 = 400_000;

/// One connection with a job-shaped table behind it.
pub(super) trait Client: Sized + Send + 'static {
    /// A row, and its commit.
    fn insert_one(&mut self) -> impl Future<Output = Result<()>> + Send;
    /// `BATCH` rows, and their commit.
    fn insert_batch(&mut self) -> impl Future<Output = Result<()>> + Send;
    /// At most `BATCH` due rows become this client's.
    fn claim(&mut self) -> impl Future<Output = Result<Vec<i64>>> + Send;
    /// They are completed, if they are still claimed.
    fn complete(&mut self, ids: &[i64]) -> impl Future<Output = Result<u64>> + Send;
}

pub(super) async fn single_rows(clients: Vec<impl Client>) -> Result<f64> {
    let began = Instant::now();
    let mut working = JoinSet::new();
    for mut client in clients {
        working.spawn(async move {
            let mut rows = 0_u32;
            while began.elapsed() < EACH {
                client.insert_one().await?;
                rows += 1;
            }
            anyhow::Ok(rows)
        });
    }
    let mut rows = 0;
    while let Some(of_one) = working.join_next().await {
        rows += of_one??;
    }
    Ok(f64::from(rows) / began.elapsed().as_secs_f64())
}

pub(super) async fn batches(client: &mut impl Client) -> Result<f64> {
    let (began, mut rows) = (Instant::now(), 0);
    while began.elapsed() < EACH {
        client.insert_batch().await?;
        rows += BATCH;
    }
    Ok(rows as f64 / began.elapsed().as_secs_f64())
}

/// Rows that were claimed and completed each second, one after the other.
pub(super) async fn claims_and_completions(client: &mut impl Client) -> Result<(f64, f64)> {
    let (began, mut claimed) = (Instant::now(), Vec::new());
    while began.elapsed() < EACH {
        let ids = client.claim().await?;
        if ids.is_empty() {
            break;
        }
        claimed.push(ids);
    }
    let rows = claimed.iter().map(Vec::len).sum::<usize>();
    let claims = rows as f64 / began.elapsed().as_secs_f64();
    let (began, mut completed) = (Instant::now(), 0_u64);
    for ids in &claimed {
        let done = client.complete(ids).await?;
        anyhow::ensure!(done == ids.len() as u64, "{done} of {} claimed rows were completed", ids.len());
        completed += done;
        if began.elapsed() >= EACH {
            break;
        }
    }
    anyhow::ensure!(completed > 0, "no row was claimed");
    Ok((claims, completed as f64 / began.elapsed().as_secs_f64()))
}

pub(super) async fn many<C: Client>(open: impl AsyncFn() -> Result<C>) -> Result<Vec<C>> {
    let mut clients = Vec::with_capacity(CLIENTS);
    for _ in 0..CLIENTS {
        clients.push(open().await.context("connecting")?);
    }
    Ok(clients)
}
