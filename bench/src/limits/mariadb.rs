//! What MariaDB allows. It has no arrays: batches are lists of values, or of ids.

use std::fmt::Write;

use anyhow::{Context, Result};
use mainspring_store::sqlx::{AssertSqlSafe, Connection as _, MySqlConnection, query, query_scalar, raw_sql};

use super::PAYLOAD;
use super::server::{BATCH, CLAIMABLE, Client, batches, claims_and_completions, many, single_rows};
use crate::figures::Figures;
use crate::place::Place;

const TABLE: &str = "
    DROP TABLE IF EXISTS limit_job;
    CREATE TABLE limit_job (id BIGINT AUTO_INCREMENT PRIMARY KEY, type VARCHAR(100) NOT NULL,
        status BIGINT NOT NULL DEFAULT 0, priority BIGINT NOT NULL DEFAULT 0, run_at BIGINT NOT NULL,
        attempts BIGINT NOT NULL DEFAULT 0, fence BIGINT NOT NULL DEFAULT 0, payload LONGTEXT, error LONGTEXT,
        created BIGINT NOT NULL, finished BIGINT, INDEX limit_job_due (status, priority, run_at, id)) ENGINE = InnoDB";
const ONE: &str = "INSERT INTO limit_job (type, run_at, payload, created) VALUES ('noop', 1, ?, 1)";
const DUE: &str = "SELECT id FROM limit_job WHERE status = 0 AND priority = 0 AND run_at <= 1000000000
    ORDER BY run_at, id LIMIT ? FOR UPDATE SKIP LOCKED";

pub(super) async fn measure(place: &Place, figures: &mut Figures) -> Result<()> {
    let open = async || {
        let mut conn = MySqlConnection::connect(&place.url).await?;
        // With gaps locked a claim would wait for inserts.
        query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").execute(&mut conn).await?;
        Ok(Connection(conn))
    };
    place.sql(TABLE)?;
    figures.set("insert_64_per_s", single_rows(many(open).await?).await?);
    place.sql(TABLE)?;
    let mut client = open().await.context("connecting")?;
    figures.set("insert_500_per_s", batches(&mut client).await?);
    let rows = format!(
        "{TABLE}; INSERT INTO limit_job (type, run_at, payload, created)
         SELECT 'noop', seq, '{PAYLOAD}', 1 FROM seq_1_to_{CLAIMABLE}"
    );
    place.sql(&rows)?;
    let (claims, completions) = claims_and_completions(&mut client).await?;
    figures.set("claim_500_per_s", claims);
    figures.set("complete_500_per_s", completions);
    place.sql("DROP TABLE limit_job").map(drop)
}

#[derive(Debug)]
struct Connection(MySqlConnection);

fn listed(ids: &[i64]) -> String {
    let mut list = String::with_capacity(ids.len() * 8);
    for id in ids {
        let _ = write!(list, "{}{id}", if list.is_empty() { "" } else { "," });
    }
    list
}

impl Connection {
    async fn change(&mut self, text: String) -> Result<u64> {
        Ok(raw_sql(AssertSqlSafe(text)).execute(&mut self.0).await?.rows_affected())
    }
}

impl Client for Connection {
    async fn insert_one(&mut self) -> Result<()> {
        query(ONE).bind(PAYLOAD).execute(&mut self.0).await?;
        Ok(())
    }

    async fn insert_batch(&mut self) -> Result<()> {
        let mut text = "INSERT INTO limit_job (type, run_at, payload, created) VALUES ".to_owned();
        for row in 0..BATCH {
            let _ = write!(text, "{}('noop', {row}, '{PAYLOAD}', {row})", if row == 0 { "" } else { "," });
        }
        self.change(text).await.map(drop)
    }

    async fn claim(&mut self) -> Result<Vec<i64>> {
        let mut transaction = self.0.begin().await?;
        let ids: Vec<i64> = query_scalar(DUE).bind(BATCH).fetch_all(&mut *transaction).await?;
        if !ids.is_empty() {
            let set = "SET status = 1, fence = fence + 1, attempts = attempts + 1";
            let text = format!("UPDATE limit_job {set} WHERE id IN ({})", listed(&ids));
            raw_sql(AssertSqlSafe(text)).execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
        Ok(ids)
    }

    async fn complete(&mut self, ids: &[i64]) -> Result<u64> {
        let which = format!("id IN ({}) AND status = 1 AND fence = 1", listed(ids));
        self.change(format!("UPDATE limit_job SET status = 2, finished = 1 WHERE {which}")).await
    }
}
