//! Pools: what people set of them.

use mainspring_model::PoolName;
use rusqlite::{Connection, params};

use super::decode::{Columns, readable};
use super::fault::{Fault, Outcome};
use super::settle::write_audit;
use super::sql;
use super::tasks::By;
use crate::{PoolSettings, WhenFull};

pub(super) fn pools(conn: &Connection) -> Outcome<Vec<PoolSettings>> {
    let mut statement = conn.prepare_cached(sql::POOLS)?;
    readable(&mut statement.query([])?, |row| {
        let mut c = Columns::of(row);
        Ok(PoolSettings {
            name: PoolName::stored(c.text()?),
            concurrency: c.count()?,
            queue_capacity: c.count()?,
            paused: c.take()?,
            when_full: when_full_of(c.text()?)?,
            rate_limit: c.opt_word("rate")?,
            cluster_concurrency: c.take()?,
        })
    })
}

pub(super) fn put(conn: &Connection, pool: &PoolSettings, by: &By) -> Outcome<()> {
    conn.prepare_cached(sql::POOL_PUT)?.execute(params![
        pool.name.as_str(),
        pool.concurrency,
        pool.queue_capacity,
        pool.paused,
        when_full_word(pool.when_full),
        pool.rate_limit.map(|limit| limit.to_string()),
        pool.cluster_concurrency,
    ])?;
    let detail = format!(
        "concurrency {}, queue {}, {}{}{}{}",
        pool.concurrency,
        pool.queue_capacity,
        when_full_word(pool.when_full),
        pool.rate_limit.map(|limit| format!(", at most {limit}")).unwrap_or_default(),
        pool.cluster_concurrency.map(|jobs| format!(", on all nodes {jobs}")).unwrap_or_default(),
        if pool.paused { ", paused" } else { "" }
    );
    write_audit(conn, by.now, &by.who, "set", &format!("pool:{}", pool.name), &detail)
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
