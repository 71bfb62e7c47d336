//! What a changed definition means for the live jobs of its task: their lanes, and the rates that were kept.

use mainspring_model::{TaskCode, TaskDefinition};

use super::fault::Outcome;
use super::params::params;
use super::session::Session;
use super::sql;
use crate::rules::task_scope;

/// A job that a person took up after its task was deleted is in no lane: the next task of that code may have limits.
pub(super) async fn enter_again(session: &mut Session, code: &TaskCode, new: &TaskDefinition) -> Outcome<()> {
    let of_task = params![code.as_str()];
    if new.is_guarded() && session.exists(&sql::TASK_HAS_PAST, &of_task).await? {
        session.run(&sql::LANE_ENTER, &of_task).await?;
    }
    Ok(())
}

/// After an edit: whoever waited for a limit is judged anew, and jobs enter or leave lanes with the first and the last
/// limit of their task.
pub(super) async fn judge_anew(
    session: &mut Session,
    code: &TaskCode,
    old: &TaskDefinition,
    new: &TaskDefinition,
) -> Outcome<()> {
    let of_task = params![code.as_str()];
    session.run(&sql::LANE_REQUEUE, &of_task).await?;
    match (old.is_guarded(), new.is_guarded()) {
        (false, true) => drop(session.run(&sql::LANE_ENTER, &of_task).await?),
        (true, false) => drop(session.run(&sql::LANE_LEAVE, &of_task).await?),
        _ => {}
    }
    if old.rate_limit != new.rate_limit {
        forget_rates(session, code).await?;
    }
    Ok(())
}

/// The rates of a task begin anew, or end with it.
pub(super) async fn forget_rates(session: &mut Session, code: &TaskCode) -> Outcome<()> {
    let of_task = params![task_scope(code)];
    session.run(&sql::RINGS_DELETE, &of_task).await?;
    session.run(&sql::RINGS_DELETE_STARTS, &of_task).await?;
    Ok(())
}
