//! The conformance suite on each server, and random verbs beside the reference.

use mainspring_model::JobId;
use mainspring_test_servers::{Kind, shared};

use super::open;
use crate::clock::SystemClock;
use crate::postgres::partitions::Turn;
use crate::suite::Subject;

async fn on(kind: Kind) -> Subject {
    let url = shared(kind).expect("a database");
    Subject { store: open(&url).await, keep: Some(Box::new(url)) }
}

/// The cases' ids are small: those of the first day there is. It has a partition, as any job's day should.
pub(crate) async fn on_postgres() -> Subject {
    let url = shared(Kind::Postgres).expect("a database");
    let store = open(&url).await;
    store.make_partitions(JobId(1).made_at(), Turn::Wait).await.expect("makes");
    Subject { store, keep: Some(Box::new(url)) }
}

pub(crate) async fn on_mariadb() -> Subject {
    on(Kind::MariaDb).await
}

crate::store_suite!(postgres => crate::server::tests::suites::on_postgres);
crate::store_suite!(mariadb => crate::server::tests::suites::on_mariadb);

/// The last three once found a fault.
const SEEDS: [u64; 6] = [0, 1, 2, 7, 13, 22];

async fn answers_as_the_reference_does(kind: Kind) {
    for seed in SEEDS {
        let reference = Subject::new(crate::MemoryStore::new(SystemClock::new()));
        crate::suite::differential::two_stores_agree(&reference, &on(kind).await, seed, 400).await;
    }
}

#[tokio::test]
async fn random_verbs_on_postgres_answer_as_the_reference_does() {
    answers_as_the_reference_does(Kind::Postgres).await;
}

#[tokio::test]
async fn random_verbs_on_mariadb_answer_as_the_reference_does() {
    answers_as_the_reference_does(Kind::MariaDb).await;
}

#[tokio::test]
async fn limits_hold_under_random_verbs_and_nobody_is_stuck() {
    for (kind, seed) in [(Kind::Postgres, 100), (Kind::MariaDb, 101)] {
        crate::suite::sequences::limits_hold_and_nobody_is_stuck(&on(kind).await, seed, 200).await;
    }
}
