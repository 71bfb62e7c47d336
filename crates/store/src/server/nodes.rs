//! Nodes: joining, the heartbeat, leaving, and what they hear of each other.
//!
//! **Invariants:** leases begin and end by the server's clock, inside the statement that writes or tests them. The
//! heartbeat is no transaction: a node that freezes within it holds nothing that others wait for.

use mainspring_model::{Clock, Incarnation, JobId, NodeState, limits};

use super::audit::{By, write_audit};
use super::decode::readable;
use super::fault::{Class, Fault, Outcome};
use super::open::unfinished;
use super::params::params;
use super::row::{Columns, Row};
use super::session::Session;
use super::sql;
use crate::clock::ClockSample;
use crate::rules::{free_node_number, gone_for_ever};
use crate::{Beat, Held, NewNode, News, NodeRow, Replaces, Trouble};

/// The next one is of the jobs that are submitted by SQL.
const NODE_NUMBER_MAX: u16 = 1_022;

/// Its number, and the newest job. What is taken over comes after it, in transactions of its own: whoever beats must not
/// wait for that.
pub(super) async fn join(session: &mut Session, node: &NewNode) -> Outcome<(u16, Option<JobId>)> {
    session.rows(&sql::CLUSTER_LOCK, &[]).await?;
    if let Some(from) = unfinished(session).await? {
        let reason = format!("it is being filled by an import, from {from}: start the node when that is done");
        return Err(Fault::Sql { class: Class::Refused(Trouble::Unavailable), reason });
    }
    match node.replaces {
        Replaces::Nobody => {}
        Replaces::Own(past) => drop(session.run(&sql::NODE_OTHERS_GONE, &params![node.incarnation, past]).await?),
        Replaces::Everyone => {
            let all = params![node.incarnation, None::<i64>];
            session.run(&sql::NODE_OTHERS_GONE, &all).await?;
        }
    }
    let now = session.number(&sql::NOW, &[]).await?.unwrap_or(0);
    session.run(&sql::NODES_FORGET, &params![now - limits::NODE_KEPT_MS]).await?;
    if session.exists(&sql::NODE_IS_GONE, &params![node.incarnation]).await? {
        let reason = gone_for_ever(node.incarnation);
        return Err(Fault::Sql { class: Class::Refused(Trouble::Unavailable), reason });
    }
    let number = number_of(session, node.incarnation).await?;
    let words = |words: &[String]| serde_json::Value::from(words.to_vec()).to_string();
    let row = params![
        node.incarnation,
        number,
        node.host.as_str(),
        node.pid,
        node.version.as_str(),
        words(&node.labels),
        words(&node.handlers),
        node.lease_ms,
    ];
    session.run(&sql::NODE_JOIN, &row).await?;
    let newest = session.number(&sql::JOB_NEWEST, &[]).await?;
    Ok((number, newest.map(JobId)))
}

/// Its own when it is a node already. The caller holds the row of the cluster, so no other node is given the same one.
async fn number_of(session: &mut Session, incarnation: Incarnation) -> Outcome<u16> {
    let mut taken = Vec::new();
    for row in session.rows(&sql::NODE_NUMBERS, &[]).await? {
        let mut c = Columns::of(&row);
        let (number, of) = (c.opt_node()?, Incarnation(c.int()?));
        match number {
            Some(number) if of == incarnation => return Ok(number),
            number => taken.extend(number),
        }
    }
    let number = free_node_number(&taken);
    if number > NODE_NUMBER_MAX {
        let reason =
            format!("all {NODE_NUMBER_MAX} numbers are taken by live nodes: stop some, then start this one again");
        return Err(Fault::Sql { class: Class::Refused(Trouble::Unavailable), reason });
    }
    Ok(number)
}

/// What a heartbeat brings.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) beat: Beat,
    /// Heartbeats of all nodes so far: what `history` compares.
    pub(super) beats: i64,
    pub(super) sample: ClockSample,
}

pub(super) async fn heartbeat(
    session: &mut Session,
    incarnation: Incarnation,
    lease_ms: i64,
    node: &dyn Clock,
) -> Outcome<Heard> {
    session.run(&sql::NODE_HEARTBEAT, &params![incarnation, lease_ms]).await?;
    session.run(&sql::CLUSTER_BEAT, &[]).await?;
    let sent = node.monotonic();
    let row = session.one(&sql::NODE_BEAT, &params![incarnation]).await?;
    let answered = node.monotonic();
    let row = row.ok_or_else(no_cluster)?;
    let mut c = Columns::of(&row);
    let state = c.opt_word("node state")?.unwrap_or(NodeState::Gone);
    let news = News { definitions: c.int()?, history: c.int()? };
    let beats = c.int()?;
    Ok(Heard { beat: Beat { state, news }, beats, sample: ClockSample { sent, answered, database: c.time()? } })
}

pub(super) async fn news(session: &mut Session) -> Outcome<News> {
    let row = session.one(&sql::NEWS, &[]).await?.ok_or_else(no_cluster)?;
    let mut c = Columns::of(&row);
    Ok(News { definitions: c.int()?, history: c.int()? })
}

pub(super) fn no_cluster() -> Fault {
    Fault::Row("the row of the cluster is gone: restore a backup".to_owned())
}

pub(super) async fn drain(session: &mut Session, incarnation: Incarnation, by: &By) -> Outcome<bool> {
    let is_known = session.run(&sql::NODE_DRAIN, &params![incarnation]).await? == 1;
    if is_known {
        write_audit(session, by, "drain", &format!("node:{incarnation}"), "").await?;
    }
    Ok(is_known)
}

/// Declares those gone whose lease has run out.
pub(super) async fn expire(session: &mut Session) -> Outcome<Vec<Incarnation>> {
    let mut gone = Vec::new();
    for row in session.rows(&sql::NODES_EXPIRED, &[]).await? {
        let incarnation = Incarnation(Columns::of(&row).int()?);
        if session.run(&sql::NODE_EXPIRE, &params![incarnation]).await? == 1 {
            gone.push(incarnation);
        }
    }
    Ok(gone)
}

pub(super) async fn held(session: &mut Session, owner: Incarnation) -> Outcome<Vec<Held>> {
    let rows = session.rows(&sql::QUEUE_HELD, &params![owner]).await?;
    rows.iter().map(super::release::held).collect()
}

pub(super) async fn nodes(session: &mut Session) -> Outcome<Vec<NodeRow>> {
    readable(&session.rows(&sql::NODES, &[]).await?, decode)
}

fn decode(row: &Row) -> Outcome<NodeRow> {
    let mut c = Columns::of(row);
    Ok(NodeRow {
        incarnation: Incarnation(c.int()?),
        number: c.opt_node()?.unwrap_or(0),
        host: c.string()?,
        pid: c.count()?,
        version: c.string()?,
        state: c.word("node state")?,
        labels: c.words("labels")?,
        handlers: c.words("handlers")?,
        heartbeat_at: c.time()?,
        expires_at: c.time()?,
    })
}
