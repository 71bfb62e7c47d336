//! `mainspring node …`.

use serde_json::json;

use super::requested;
use crate::args::{Format, Node};
use crate::client::{Client, Query};
use crate::failure::Failure;
use crate::print;

const COLUMNS: [&str; 8] = ["id", "name", "state", "pid", "version", "labels", "heartbeatAt", "expiresAt"];

pub(crate) async fn run(command: Node, client: &Client, format: Format) -> Result<(), Failure> {
    match command {
        Node::List => print::list(format, &client.get(&["nodes"], Query::new()).await?, &COLUMNS),
        Node::Drain { id, request } => {
            let node = client.post(&["nodes", &id, "drain"], &requested(json!({}), request)).await?;
            print::object(format, &node, &["id", "name", "state", "duplicate"])
        }
    }
}
