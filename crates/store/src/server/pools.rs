//! Pools: what people set of them.

use mainspring_model::PoolName;

use super::audit::{By, definition_changed, write_audit};
use super::decode::readable;
use super::fault::{Fault, Outcome};
use super::params::params;
use super::row::Columns;
use super::session::Session;
use super::sql;
use crate::{PoolSettings, WhenFull};

pub(super) async fn pools(session: &mut Session) -> Outcome<Vec<PoolSettings>> {
    readable(&session.rows(&sql::POOLS, &[]).await?, |row| {
        let mut c = Columns::of(row);
        Ok(PoolSettings {
            name: PoolName::stored(c.text()?),
            concurrency: c.count()?,
            queue_capacity: c.count()?,
            paused: c.flag()?,
            when_full: when_full_of(c.text()?)?,
            rate_limit: c.opt_word("rate")?,
            cluster_concurrency: c.opt_count()?,
        })
    })
}

pub(super) async fn put(session: &mut Session, pool: &PoolSettings, by: &By) -> Outcome<()> {
    let rate_limit = pool.rate_limit.map(|limit| limit.to_string());
    let row = params![
        pool.name.as_str(),
        pool.concurrency,
        pool.queue_capacity,
        pool.paused,
        when_full_word(pool.when_full),
        rate_limit.as_deref(),
        pool.cluster_concurrency,
    ];
    session.run(&sql::POOL_PUT, &row).await?;
    let detail = format!(
        "concurrency {}, queue {}, {}{}{}{}",
        pool.concurrency,
        pool.queue_capacity,
        when_full_word(pool.when_full),
        rate_limit.map(|limit| format!(", at most {limit}")).unwrap_or_default(),
        pool.cluster_concurrency.map(|jobs| format!(", on all nodes {jobs}")).unwrap_or_default(),
        if pool.paused { ", paused" } else { "" }
    );
    write_audit(session, by, "set", &format!("pool:{}", pool.name), &detail).await?;
    definition_changed(session).await
}

const fn when_full_word(when_full: WhenFull) -> &'static str {
    match when_full {
        WhenFull::Spill => "SPILL",
        WhenFull::Wait => "WAIT",
        WhenFull::CallerRuns => "CALLER_RUNS",
        WhenFull::Reject => "REJECT",
    }
}

fn when_full_of(word: &str) -> Outcome<WhenFull> {
    [WhenFull::Spill, WhenFull::Wait, WhenFull::CallerRuns, WhenFull::Reject]
        .into_iter()
        .find(|when_full| when_full_word(*when_full) == word)
        .ok_or_else(|| Fault::Row(format!("when_full `{word}` is not known to this version")))
}
