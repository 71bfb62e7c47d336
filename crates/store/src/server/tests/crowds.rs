//! Several nodes at one time: what they take they do not share, and nobody waits for the dead.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use mainspring_model::{Incarnation, JobId, NodeState, QueueState, Timestamp};

use super::{number, on_each, open, session};
use crate::suite::scheduled::{at_most, at_rate, of_task};
use crate::suite::world::{T0, at, claim_request, definition, done, new_node, settlement, started};
use crate::suite::{Subject, World};
use crate::{Claim, GiveBack, Joined, NewNode, Replaces, ServerStore, Settled, Store as _, TakenOver, Wake};

const NODES: [Incarnation; 4] = [Incarnation(11), Incarnation(12), Incarnation(13), Incarnation(14)];

/// A store of its own for each node, and a world on the first.
async fn nodes(url: &str) -> (World, Vec<Arc<ServerStore>>) {
    let stores = join_all(NODES.map(|_| open(url))).await;
    let world = World::of(&Subject { store: Arc::<ServerStore>::clone(&stores[0]), keep: None });
    world.create(crate::suite::world::TASK, definition()).await;
    (world, stores)
}

async fn join(store: &ServerStore, incarnation: Incarnation, lease_ms: i64) -> Joined {
    let node = NewNode { lease_ms, ..new_node(incarnation, Replaces::Nobody) };
    store.join(node, T0).await.expect("joins")
}

async fn claim(store: &ServerStore, owner: Incarnation, jobs_max: u32) -> Vec<Claim> {
    store.claim(claim_request(owner, jobs_max, T0, T0)).await.expect("claims").jobs
}

#[tokio::test]
async fn four_nodes_share_a_queue_without_sharing_a_job() {
    on_each(async |url| {
        let (world, stores) = nodes(url).await;
        join_all(NODES.iter().zip(&stores).map(|(node, store)| join(store, *node, 60_000))).await;
        world.submit_plain(1..=2_000).await;
        let work = |(owner, store): (Incarnation, Arc<ServerStore>)| async move {
            let mut own = Vec::new();
            loop {
                let claims = claim(&store, owner, 70).await;
                if claims.is_empty() {
                    return own;
                }
                let settlements = claims.iter().map(|claim| settlement(claim, done(None))).collect();
                let answers = store.settle(settlements, at(30)).await.expect("settles");
                assert!(answers.iter().all(|settled| *settled == Settled::Applied), "{answers:?}");
                own.extend(claims.iter().map(|claim| claim.id));
            }
        };
        let all = join_all(NODES.into_iter().zip(stores).map(work)).await;
        let ids: BTreeSet<JobId> = all.iter().flatten().copied().collect();
        assert_eq!((ids.len(), all.iter().map(Vec::len).sum::<usize>()), (2_000, 2_000));
        assert!(all.iter().all(|own| !own.is_empty()), "each has its part");
        assert_eq!(world.store().verify().await.expect("verify answers"), []);
    })
    .await;
}

#[tokio::test]
async fn jobs_of_a_task_that_somebody_holds_are_asked_for_again_after_a_pause() {
    on_each(async |url| {
        let (world, stores) = nodes(url).await;
        join(&stores[0], NODES[0], 60_000).await;
        world.create("narrow", at_most(1)).await;
        world.create("rated", at_rate("1/10s")).await;
        world.stored(vec![of_task(1, "narrow"), of_task(2, "rated"), of_task(3, "rated")]).await;
        world.submit_plain(4..=4).await;
        let look = async |ms: i64| {
            let claimed = stores[0].claim(claim_request(NODES[0], 10, at(ms), at(ms))).await.expect("claims");
            (claimed.jobs.iter().map(|claim| claim.id.0).collect::<BTreeSet<_>>(), claimed.next_due[0].1)
        };
        let hold = |task: &str| format!("BEGIN; SELECT id FROM task_info WHERE task_code = '{task}' FOR UPDATE");
        let mut beside = session(url).await;
        beside.command(&hold("narrow")).await.expect("locks");
        let (first, next) = look(0).await;
        assert!(first.is_superset(&BTreeSet::from([2, 4])) && !first.contains(&1), "{first:?}");
        let soon = |next: Option<Timestamp>, ms: i64| next.is_some_and(|next| next > at(ms) && next <= at(ms + 50));
        assert!(soon(next, 0), "{next:?}");
        beside.command("ROLLBACK").await.expect("lets go");
        assert_eq!(look(0).await.0, BTreeSet::from([1]));
        // The rate of a task opens while somebody holds it.
        beside.command(&hold("rated")).await.expect("locks");
        let (none, next) = look(20_000).await;
        assert!(none.is_empty() && soon(next, 20_000), "{none:?} {next:?}");
        beside.command("ROLLBACK").await.expect("lets go");
        assert_eq!(look(20_000).await.0, BTreeSet::from([3]));
    })
    .await;
}

#[tokio::test]
async fn nodes_that_join_at_one_time_have_different_numbers() {
    on_each(async |url| {
        let (_, stores) = nodes(url).await;
        let joined = join_all(NODES.iter().zip(&stores).map(|(node, store)| join(store, *node, 60_000))).await;
        let numbers: BTreeSet<u16> = joined.iter().map(|joined| joined.node_number).collect();
        assert_eq!(numbers, BTreeSet::from([1, 2, 3, 4]));
    })
    .await;
}

#[tokio::test]
async fn the_numbers_of_nodes_end() {
    on_each(async |url| {
        let (_, stores) = nodes(url).await;
        let mut beside = session(url).await;
        let rows = (1..=1_022).map(|number| {
            format!("({}, {number}, 'ENGINE', 'here', 7, '1', 'ACTIVE', 0, 9223372036854775807)", 1_000 + number)
        });
        let rows = rows.collect::<Vec<_>>().join(", ");
        let columns = "incarnation, number, kind, host, pid, version, state, heartbeat_at, expires_at";
        beside.command(&format!("INSERT INTO node ({columns}) VALUES {rows}")).await.expect("inserts");
        let refused = stores[0].join(new_node(NODES[0], Replaces::Nobody), T0).await.expect_err("there is none left");
        assert!(refused.to_string().contains("all 1022 numbers are taken"), "{refused}");
    })
    .await;
}

/// A node that holds `jobs`, a few of them started, and whose lease is over.
async fn dead_node(world: &World, store: &ServerStore, jobs: i64) -> (Vec<Claim>, usize) {
    let dead = Incarnation(99);
    join(store, dead, 1).await;
    world.submit_plain(1..=jobs).await;
    let mut claims = Vec::new();
    loop {
        let more = claim(store, dead, 1_000).await;
        if more.is_empty() {
            break;
        }
        claims.extend(more);
    }
    let starts: Vec<_> = claims.iter().take(claims.len() / 10).map(|claim| started(claim, at(5))).collect();
    let begun = starts.len();
    assert_eq!(store.mark_started(starts).await.expect("starts"), vec![true; begun]);
    (claims, begun)
}

#[tokio::test]
async fn a_dead_node_is_taken_over_once_by_two_that_look_at_one_time() {
    on_each(async |url| {
        let (world, stores) = nodes(url).await;
        let (claims, begun) = dead_node(&world, &stores[3], 1_800).await;
        let look = |store: Arc<ServerStore>| async move {
            let mut all = TakenOver::default();
            // Whoever skips what another one is taking has seen nothing of it: it is for the next look.
            for _ in 0..20 {
                let over = store.take_over(at(10)).await.expect("takes over");
                all.nodes.extend(over.nodes);
                all.released += over.released;
                all.lost += over.lost;
            }
            all
        };
        let (one, other) = tokio::join!(look(Arc::clone(&stores[0])), look(Arc::clone(&stores[1])));
        assert_eq!(one.nodes.len() + other.nodes.len(), 1, "one of them declared it gone");
        let (released, lost) = (one.released + other.released, one.lost + other.lost);
        assert_eq!((released as usize, lost as usize), (claims.len() - begun, begun));
        assert_eq!(world.store().verify().await.expect("verify answers"), []);
        assert_eq!(stores[0].held(Incarnation(99)).await.expect("reads"), []);
    })
    .await;
}

#[tokio::test]
async fn a_claim_that_races_its_own_take_over_loses_no_job() {
    on_each(async |url| {
        let (world, stores) = nodes(url).await;
        let zombie = Incarnation(99);
        join(&stores[3], zombie, 1).await;
        world.submit_plain(1..=600).await;
        let claiming = async {
            let mut held = Vec::new();
            for _ in 0..12 {
                held.extend(claim(&stores[3], zombie, 50).await);
            }
            held
        };
        let taking = async {
            for _ in 0..12 {
                stores[0].take_over(at(10)).await.expect("takes over");
            }
        };
        let (held, ()) = tokio::join!(claiming, taking);
        stores[0].take_over(at(20)).await.expect("takes over");
        let late: Vec<_> = held.iter().map(|claim| settlement(claim, done(None))).collect();
        let answers = stores[3].settle(late, at(30)).await.expect("settles");
        assert!(answers.iter().all(|settled| *settled == Settled::Lost), "all were taken from it");
        join(&stores[0], NODES[0], 60_000).await;
        let mut left = BTreeSet::new();
        loop {
            let claims = claim(&stores[0], NODES[0], 500).await;
            if claims.is_empty() {
                break;
            }
            left.extend(claims.iter().map(|claim| claim.id));
        }
        assert_eq!(left.len(), 600);
        stores[0].leave(NODES[0], at(40)).await.expect("leaves");
        assert_eq!(world.store().verify().await.expect("verify answers"), []);
    })
    .await;
}

#[tokio::test]
async fn a_row_that_somebody_has_locked_keeps_no_take_over_up() {
    on_each(async |url| {
        let (world, stores) = nodes(url).await;
        let (claims, _) = dead_node(&world, &stores[3], 20).await;
        let mut frozen = session(url).await;
        let lock = format!("SELECT 1 FROM job_queue WHERE job_id = {} FOR UPDATE", claims[19].id);
        frozen.command(&format!("BEGIN; {lock}")).await.expect("locks");
        let over = stores[0].take_over(at(10)).await.expect("takes over");
        assert_eq!((over.released, over.lost), (17, 2), "all but the locked one");
        frozen.command("ROLLBACK").await.expect("lets go");
        assert_eq!(stores[0].take_over(at(20)).await.expect("takes over").released, 1);
    })
    .await;
}

#[tokio::test]
async fn a_heartbeat_waits_for_nobody() {
    on_each(async |url| {
        let (world, stores) = nodes(url).await;
        join(&stores[0], NODES[0], 60_000).await;
        let mut slow = session(url).await;
        slow.command("BEGIN; SELECT id FROM cluster WHERE id = 1 FOR UPDATE").await.expect("locks");
        let beat = stores[0].heartbeat(NODES[0], 60_000).await.expect("beats");
        assert_eq!(beat.state, NodeState::Active);
        slow.command("ROLLBACK").await.expect("lets go");
        let before = beats(url).await;
        world.store().heartbeat(NODES[0], 60_000).await.expect("beats");
        assert_eq!(beats(url).await, before + 1);
    })
    .await;
}

async fn beats(url: &str) -> i64 {
    number(url, "SELECT beats FROM cluster").await
}

#[tokio::test]
async fn claims_of_before_a_lost_history_are_void() {
    on_each(async |url| {
        let (world, stores) = nodes(url).await;
        join(&stores[0], NODES[0], 60_000).await;
        world.submit_plain(1..=4).await;
        let claims = claim(&stores[0], NODES[0], 3).await;
        assert_eq!(stores[0].mark_started(vec![started(&claims[2], at(5))]).await.expect("starts"), [true]);
        let before = stores[0].heartbeat(NODES[0], 60_000).await.expect("beats").news.history;
        for _ in 0..3 {
            stores[0].heartbeat(NODES[0], 60_000).await.expect("beats");
        }
        // As a standby that lay behind.
        let mut beside = session(url).await;
        beside.command("UPDATE cluster SET beats = 1").await.expect("goes back");
        super::sessions::cut_all_others(url).await;
        // Several connections find it out, one of them acts.
        join_all((0..5).map(|_| stores[0].now())).await;
        stores[0].now().await.expect("answers");
        // The connection of heartbeats was cut too: what became of the first one is not known.
        drop(stores[0].heartbeat(NODES[0], 60_000).await);
        let news = stores[0].heartbeat(NODES[0], 60_000).await.expect("beats").news;
        assert_ne!(news.history, before);
        let floor = number(url, "SELECT fence_floor FROM cluster").await;
        assert!(floor > 1_700_000_000_000, "{floor}");
        let late: Vec<_> = claims.iter().map(|claim| settlement(claim, done(None))).collect();
        let answers = stores[0].settle(late, at(30)).await.expect("settles");
        assert!(answers.iter().all(|settled| *settled == Settled::Lost), "{answers:?}");
        let again = claim(&stores[0], NODES[0], 9).await;
        let seen: BTreeSet<_> =
            again.iter().map(|claim| (claim.id.0, claim.fence.0, claim.suspect, claim.lost_count)).collect();
        let fence = floor + 1;
        let expect = [(1, fence, true, 0), (2, fence, true, 0), (3, fence, true, 0), (4, fence, false, 0)];
        assert_eq!(seen, BTreeSet::from(expect));
        assert_eq!(world.store().verify().await.expect("verify answers"), []);
    })
    .await;
}

#[tokio::test]
async fn a_server_that_took_the_place_of_another_one_makes_claims_void() {
    on_each(async |url| {
        let (world, stores) = nodes(url).await;
        join(&stores[0], NODES[0], 60_000).await;
        world.submit_plain(1..=1).await;
        let held = claim(&stores[0], NODES[0], 1).await;
        let mut beside = session(url).await;
        let both = "SELECT count(*) FROM store_meta WHERE name = 'server' AND length(value) > 20 AND value LIKE '%/%'";
        assert_eq!(number(url, both).await, 1, "a number alone is easily another server's as well");
        beside.command("UPDATE store_meta SET value = 'another' WHERE name = 'server'").await.expect("changes");
        let newcomer = open(url).await;
        let history = newcomer.news().await.expect("reads").history;
        assert_ne!(history, 0);
        assert_eq!(world.queue_state(1).await, Some(QueueState::Queued));
        let late = settlement(&held[0], done(None));
        assert_eq!(newcomer.settle(vec![late], at(30)).await.expect("settles"), [Settled::Lost]);
        drop(open(url).await);
        assert_eq!(newcomer.news().await.expect("reads").history, history, "it is the known one now");
    })
    .await;
}

#[tokio::test]
async fn a_database_of_another_cluster_is_refused() {
    on_each(async |url| {
        drop(open(&format!("{url}?cluster=blue")).await);
        drop(open(url).await);
        let clock = crate::clock::SystemClock::new();
        let refused = ServerStore::open(&format!("{url}?cluster=red"), clock).await.expect_err("not ours").to_string();
        assert!(refused.contains("`blue`") && refused.contains("`red`"), "{refused}");
    })
    .await;
}

#[tokio::test]
async fn nodes_hear_of_what_others_do() {
    on_each(async |url| {
        let (world, stores) = nodes(url).await;
        let Some(mut heard) = stores[1].wakes() else {
            assert!(!url.starts_with("postgres"), "it is heard there");
            return;
        };
        world.submit_plain(1..=3).await;
        until(&mut heard, Wake::Jobs).await;
        world.create("other", definition()).await;
        until(&mut heard, Wake::Definitions).await;
        super::sessions::cut_all_others(url).await;
        until(&mut heard, Wake::Anything).await;
        // The listener may be there before the sender has noticed.
        loop {
            join(&stores[0], NODES[0], 60_000).await;
            let held = claim(&stores[0], NODES[0], 1).await;
            let held: Vec<_> = held.iter().map(Claim::held).collect();
            stores[0].give_back(held, GiveBack::Release, T0).await.expect("gives back");
            if tokio::time::timeout(std::time::Duration::from_secs(1), until(&mut heard, Wake::Jobs)).await.is_ok() {
                break;
            }
        }
    })
    .await;
}

async fn until(heard: &mut tokio::sync::broadcast::Receiver<Wake>, expect: Wake) {
    let search = async { while heard.recv().await.expect("it is heard") != expect {} };
    tokio::time::timeout(std::time::Duration::from_secs(20), search).await.expect("it is heard in time");
}
