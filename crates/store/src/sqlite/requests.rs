//! Request ids: a button that is pressed twice does one thing.

use mainspring_model::limits;
use rusqlite::{Connection, params};

use super::fault::Outcome;
use super::sql;
use crate::{Press, Pressed};

pub(super) fn press(conn: &Connection, press: &Press) -> Outcome<Pressed> {
    let kept_since = press.now.plus_ms(-limits::REQUEST_ID_KEPT_MS);
    conn.prepare_cached(sql::REQUESTS_FORGET)?.execute([kept_since.as_ms()])?;
    let row = params![press.request_id, press.operation, press.now.as_ms()];
    if conn.prepare_cached(sql::REQUEST_INSERT)?.execute(row)? == 1 {
        return Ok(Pressed::First);
    }
    let (operation, answer): (String, Option<String>) =
        conn.prepare_cached(sql::REQUEST_READ)?.query_row([&press.request_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(match answer {
        _ if operation != press.operation => Pressed::OtherOperation { operation },
        Some(answer) => Pressed::Again { answer },
        None => Pressed::UnderWay,
    })
}

pub(super) fn answer(conn: &Connection, request_id: &str, answer: Option<&str>) -> Outcome<()> {
    match answer {
        Some(answer) => conn.prepare_cached(sql::REQUEST_ANSWER)?.execute([request_id, answer])?,
        None => conn.prepare_cached(sql::REQUEST_DELETE)?.execute([request_id])?,
    };
    Ok(())
}
