//! The conformance suite, on each server.

use mainspring_test_servers::{Kind, shared};

use super::open;
use crate::suite::Subject;

async fn on(kind: Kind) -> Subject {
    let url = shared(kind).expect("a database");
    Subject { store: open(&url).await, keep: Some(Box::new(url)) }
}

pub(crate) async fn on_postgres() -> Subject {
    on(Kind::Postgres).await
}

pub(crate) async fn on_mariadb() -> Subject {
    on(Kind::MariaDb).await
}

crate::store_suite!(postgres => crate::server::tests::suites::on_postgres);
crate::store_suite!(mariadb => crate::server::tests::suites::on_mariadb);
