//! History that is moved goes into partitions of its days, so that it can be dropped day by day as well.

use std::collections::BTreeSet;

use mainspring_model::{JobId, Timestamp};

use crate::postgres::partitions::{Turn, make};
use crate::server::days::Day;
use crate::server::fault::Outcome;
use crate::server::session::{Begin, Dialect, Session};
use crate::transfer::tables::Table;
use crate::transfer::value::{Row, Value};

/// What is older goes into the default partition: each day makes queries that look at all of them a little slower.
const DAYS_MAX: i64 = 400;

/// The days that were seen to.
#[derive(Debug)]
pub(super) struct Made {
    first: Day,
    last: Day,
    seen: BTreeSet<Day>,
}

impl Made {
    pub(super) fn by(now: Timestamp) -> Made {
        let today = Day::at(now);
        Made { first: today.plus(-DAYS_MAX), last: today, seen: BTreeSet::new() }
    }

    /// Before the first row of a day is written.
    pub(super) async fn of_rows(&mut self, session: &mut Session, table: &Table, rows: &[Row]) -> Outcome<()> {
        let is_partitioned = matches!(table.name, "async_task" | "task_execution_log");
        if !is_partitioned || session.dialect() != Dialect::Postgres {
            return Ok(());
        }
        for row in rows {
            let Some(Value::Number(id)) = row.first() else { continue };
            let day = Day::of(JobId(*id));
            if (self.first..=self.last).contains(&day) && self.seen.insert(day) {
                session.begin(Begin::Write).await?;
                make(session, day, Turn::Wait).await?;
                session.command("COMMIT").await?;
            }
        }
        Ok(())
    }
}
