//! Execute: a body has begun, and this is written down.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::days::Part;
use super::fault::Outcome;
use super::params::{Batch, Column, params};
use super::release::{Busy, ids_of, lock};
use super::session::Session;
use super::sql;
use crate::{Held, Started};

/// Each is a statement for the whole batch.
pub(super) async fn mark_started(session: &mut Session, started: &[Started]) -> Outcome<Vec<bool>> {
    let asked: Vec<Held> = started.iter().map(|start| start.held).collect();
    let held: BTreeSet<Held> = lock(session, &asked, Busy::Wait).await?.iter().map(|row| row.held).collect();
    let begun: Vec<&Started> = started.iter().filter(|start| held.contains(&start.held)).collect();
    if !begun.is_empty() {
        session.run(&sql::QUEUE_START_ALL, &params![ids_of(held.iter().map(|held| held.id))]).await?;
        for (part, begun) in session.by_part(begun, |start| start.held.id) {
            write(session, part, &begun).await?;
        }
    }
    Ok(asked.iter().map(|asked| held.contains(asked)).collect())
}

async fn write(session: &mut Session, part: Option<Part>, begun: &[&Started]) -> Outcome<()> {
    let ints = |of: fn(&Started) -> i64| Column::Ints(begun.iter().map(|start| Some(of(start))).collect());
    let mut columns = vec![
        ints(|start| start.held.id.0),
        ints(|start| start.held.fence.0),
        ints(|start| start.attempt.into()),
        ints(|start| start.start_time.as_ms()),
    ];
    session.run_in(part, &sql::JOB_START_ALL, &params![Batch { columns: columns.clone() }]).await?;
    columns.push(ints(|start| start.node.into()));
    columns.push(Column::Texts(begun.iter().map(|start| Some(Cow::Borrowed(start.task.as_str()))).collect()));
    session.run_in(part, &sql::ATTEMPT_START_ALL, &params![Batch { columns }]).await?;
    Ok(())
}
