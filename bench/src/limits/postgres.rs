//! What PostgreSQL allows.

use anyhow::{Context, Result};
use mainspring_store::sqlx::{Connection as _, PgConnection, query, query_scalar};

use super::PAYLOAD;
use super::server::{BATCH, CLAIMABLE, Client, batches, claims_and_completions, many, single_rows};
use crate::figures::Figures;
use crate::place::Place;

const TABLE: &str = "
    DROP TABLE IF EXISTS limit_job;
    CREATE TABLE limit_job (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, type TEXT NOT NULL,
        status BIGINT NOT NULL DEFAULT 0, priority BIGINT NOT NULL DEFAULT 0, run_at BIGINT NOT NULL,
        attempts BIGINT NOT NULL DEFAULT 0, fence BIGINT NOT NULL DEFAULT 0, payload TEXT, error TEXT,
        created BIGINT NOT NULL, finished BIGINT);
    CREATE INDEX limit_job_due ON limit_job (priority, run_at, id) WHERE status = 0";
const ONE: &str = "INSERT INTO limit_job (type, run_at, payload, created) VALUES ('noop', 1, $1, 1)";
const MANY: &str = "INSERT INTO limit_job (type, run_at, payload, created)
    SELECT 'noop', b.run_at, b.payload, b.run_at FROM unnest($1::bigint[], $2::text[]) AS b (run_at, payload)";
const CLAIM: &str = "
    WITH due AS (SELECT id FROM limit_job WHERE status = 0 AND run_at <= 1000000000
                 ORDER BY priority, run_at, id LIMIT $1 FOR UPDATE SKIP LOCKED)
    UPDATE limit_job j SET status = 1, fence = fence + 1, attempts = attempts + 1 FROM due WHERE j.id = due.id
    RETURNING j.id";
const COMPLETE: &str = "UPDATE limit_job j SET status = 2, finished = 1
    FROM unnest($1::bigint[]) AS b (id) WHERE j.id = b.id AND j.status = 1 AND j.fence = 1";

pub(super) async fn measure(place: &Place, figures: &mut Figures) -> Result<()> {
    let open = async || Ok(Connection(PgConnection::connect(&place.url).await?));
    place.sql(TABLE)?;
    figures.set("insert_64_per_s", single_rows(many(open).await?).await?);
    place.sql(&format!("{TABLE}; CHECKPOINT"))?;
    let mut client = open().await.context("connecting")?;
    figures.set("insert_500_per_s", batches(&mut client).await?);
    let rows = format!(
        "{TABLE}; INSERT INTO limit_job (type, run_at, payload, created)
         SELECT 'noop', i, '{PAYLOAD}', 1 FROM generate_series(1, {CLAIMABLE}) AS n (i);
         VACUUM ANALYZE limit_job; CHECKPOINT"
    );
    place.sql(&rows)?;
    let (claims, completions) = claims_and_completions(&mut client).await?;
    figures.set("claim_500_per_s", claims);
    figures.set("complete_500_per_s", completions);
    place.sql("DROP TABLE limit_job").map(drop)
}

#[derive(Debug)]
struct Connection(PgConnection);

impl Client for Connection {
    async fn insert_one(&mut self) -> Result<()> {
        query(ONE).bind(PAYLOAD).execute(&mut self.0).await?;
        Ok(())
    }

    async fn insert_batch(&mut self) -> Result<()> {
        let times: Vec<i64> = (0..BATCH).collect();
        let payloads = vec![PAYLOAD; times.len()];
        query(MANY).bind(times).bind(payloads).execute(&mut self.0).await?;
        Ok(())
    }

    async fn claim(&mut self) -> Result<Vec<i64>> {
        Ok(query_scalar(CLAIM).bind(BATCH).fetch_all(&mut self.0).await?)
    }

    async fn complete(&mut self, ids: &[i64]) -> Result<u64> {
        Ok(query(COMPLETE).bind(ids).execute(&mut self.0).await?.rows_affected())
    }
}
