//! Request ids: a button that is pressed twice does one thing, on whichever nodes it is pressed.

use mainspring_model::limits;

use super::fault::{Fault, Outcome};
use super::params::params;
use super::row::Columns;
use super::session::Session;
use super::sql;
use crate::{Press, Pressed};

pub(super) async fn press(session: &mut Session, press: &Press) -> Outcome<Pressed> {
    let kept_since = press.now.plus_ms(-limits::REQUEST_ID_KEPT_MS);
    session.run(&sql::REQUESTS_FORGET, &params![kept_since]).await?;
    let row = params![press.request_id.as_str(), press.operation.as_str(), press.now];
    if session.run(&sql::REQUEST_INSERT, &row).await? == 1 {
        return Ok(Pressed::First);
    }
    let Some(row) = session.one(&sql::REQUEST_READ, &params![press.request_id.as_str()]).await? else {
        // Its first press has come to nothing, or was forgotten, just now.
        return Err(Fault::again("the request id became free just now"));
    };
    let mut c = Columns::of(&row);
    let (operation, answer) = (c.string()?, c.opt_string()?);
    Ok(match answer {
        _ if operation != press.operation => Pressed::OtherOperation { operation },
        Some(answer) => Pressed::Again { answer },
        None => Pressed::UnderWay,
    })
}

pub(super) async fn answer(session: &mut Session, request_id: &str, answer: Option<&str>) -> Outcome<()> {
    let done = match answer {
        Some(answer) => session.run(&sql::REQUEST_ANSWER, &params![request_id, answer]).await,
        None => session.run(&sql::REQUEST_DELETE, &params![request_id]).await,
    };
    done.map(drop)
}
