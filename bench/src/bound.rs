//! What bounds a cluster: said from the processors, and from what the sessions of the database were seen waiting for.

use std::fmt::Write;

use crate::figures::Figures;

/// The machine has nothing left to give.
const BUSY_PERCENT: f64 = 90.0;
/// Of the looks at a session that works.
const MUCH_PERCENT: f64 = 40.0;

pub(crate) const NODES: &[u32] = &[1, 2, 4];

/// Shares in per cent: of the machine, and of all looks at sessions that were in the middle of a statement.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shares {
    busy: f64,
    nodes: f64,
    database: f64,
    sync: f64,
    lock: f64,
}

/// One line for each number of nodes.
pub(crate) fn lines(figures: &Figures) -> String {
    let mut text = String::new();
    for nodes in NODES {
        let get = |name: &str| figures.get(&format!("nodes_{nodes}_{name}"));
        let shares = || {
            Some(Shares {
                busy: get("busy_percent")?,
                nodes: get("node_cpu_percent")?,
                database: get("database_cpu_percent")?,
                sync: get("sync_percent")?,
                lock: get("lock_percent")?,
            })
        };
        if let (Some(rate), Some(shares)) = (get("per_s"), shares()) {
            let _ = writeln!(text, "\n{nodes} node(s), {rate:.0} jobs/s: bound by {}. {shares}", shares.bound());
        }
    }
    text
}

impl Shares {
    fn bound(&self) -> &'static str {
        if self.busy >= BUSY_PERCENT && self.nodes + self.database < self.busy / 2.0 {
            "processors, most of it others: measure again"
        } else if self.busy >= BUSY_PERCENT {
            if self.database > self.nodes {
                "processors, most of it the database"
            } else {
                "processors, most of it the nodes"
            }
        } else if self.lock >= MUCH_PERCENT {
            "locks: sessions wait for each other's rows"
        } else if self.sync >= MUCH_PERCENT {
            "the sync of the database's log"
        } else {
            "round trips: each node has one batch of a kind under way"
        }
    }
}

impl std::fmt::Display for Shares {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Shares { busy, nodes, database, sync, lock } = self;
        write!(
            f,
            "Of the machine the nodes used {nodes:.0} %, the database {database:.0} %, all together {busy:.0} %; "
        )?;
        write!(f, "of the looks at busy sessions {sync:.0} % met the log's sync, {lock:.0} % a lock.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_what_there_is_most_of() {
        let check = |(busy, nodes, database): (f64, f64, f64), sync, lock, expect: &str| {
            let bound = Shares { busy, nodes, database, sync, lock }.bound();
            assert!(bound.contains(expect), "{bound}");
        };
        check((97.0, 20.0, 75.0), 80.0, 0.0, "the database");
        check((97.0, 75.0, 20.0), 0.0, 0.0, "the nodes");
        check((97.0, 15.0, 20.0), 0.0, 0.0, "others");
        check((50.0, 20.0, 30.0), 60.0, 10.0, "sync");
        check((50.0, 20.0, 30.0), 60.0, 50.0, "locks");
        check((50.0, 20.0, 30.0), 10.0, 10.0, "round trips");
    }
}
