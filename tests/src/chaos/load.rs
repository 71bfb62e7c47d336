//! What goes on from outside while things break: callers who repeat a submit under its key until they know the answer,
//! a person who cancels and retries, and somebody who looks at what is final.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::blocking::Client;
use serde_json::{Value, json};

use super::history::{Asked, Keys, Ms, Schedule, Sighting, Task, Verb, Word};
use super::stage::Addresses;
use crate::server::answer;
use crate::{Answer, Server, client_needs_a_provider, pause, wall_ms};

const CALLERS: u64 = 3;
const ANSWER_LIMIT: Duration = Duration::from_secs(6);
/// Of one caller between two submits.
const GAP_MS: std::ops::Range<u64> = 60..180;
const LIVE_KEYS: u64 = 4;
const LANES: u64 = 5;
/// A body may be longer than the lease.
const LONG_MS: std::ops::Range<u64> = 3_000..30_000;

#[derive(Debug)]
pub(super) struct Load {
    addresses: Addresses,
    client: Client,
    stop: AtomicBool,
    next: AtomicU64,
    pub asked: Mutex<Vec<Asked>>,
    pub words: Mutex<Vec<Word>>,
    pub sightings: Mutex<Vec<Sighting>>,
    pub complaints: Mutex<Vec<String>>,
    pub repeats: AtomicU64,
}

/// All tasks, stored through one node.
pub(super) fn tasks(node: &Server) -> Vec<Task> {
    let always = |code, handler, ends, more| task(node, code, handler, more, Keys::Always, ends);
    let mut tasks = vec![
        always("quick", "probe.ok", "SUCCESS", json!({})),
        always("delayed", "probe.ok", "SUCCESS", json!({})),
        always("medium", "probe.sleep", "SUCCESS", json!({})),
        always("long", "probe.sleep", "SUCCESS", json!({})),
        always("flaky", "probe.fail_n", "SUCCESS", json!({"retryBase": "500ms", "retryCount": 3})),
        always("broken", "probe.fail", "FAILED", json!({"retryBase": "500ms", "retryCount": 2})),
        always("serial", "probe.sleep", "SUCCESS", json!({"maxRunning": 1, "concurrencyKey": "/lane"})),
        task(node, "single", "probe.sleep", json!({}), Keys::Live, "SUCCESS"),
    ];
    let fires = |code, every_ms: Ms, handler, more: Value| {
        let mut fields = json!({"type": "cron", "every": format!("{}s", every_ms / 1_000)});
        fields.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let task = task(node, code, handler, fields, Keys::Fires, "SUCCESS");
        Task { schedule: Some(Schedule { every_ms, from_ms: wall_ms(), to_ms: 0 }), ..task }
    };
    tasks.push(fires("tick", 1_000, "probe.ok", json!({"overlap": "ALLOW"})));
    tasks.push(fires("tock", 2_000, "probe.ok", json!({})));
    tasks.push(fires("crowded", 2_000, "probe.sleep", json!({"param": {"ms": 2_600}})));
    tasks.iter_mut().for_each(|task| task.is_serial = matches!(task.code.as_str(), "serial" | "tock" | "crowded"));
    tasks
}

fn task(node: &Server, code: &str, handler: &str, more: Value, keys: Keys, ends: &'static str) -> Task {
    node.task(code, handler, &more);
    Task { code: code.to_owned(), keys, ends, is_serial: false, retry_base_ms: 500, schedule: None }
}

/// The next job of a caller, and its key.
fn job(number: u64, dice: &mut fastrand::Rng) -> (Value, String) {
    let key = format!("key-{number}");
    let ms = |range: std::ops::Range<u64>, dice: &mut fastrand::Rng| dice.u64(range);
    let mut job = match dice.u32(0..100) {
        0..38 => json!({"task": "quick"}),
        38..54 => json!({"task": "delayed", "delay": format!("{}ms", ms(200..15_000, dice))}),
        54..66 => json!({"task": "medium", "payload": {"ms": ms(0..3_000, dice)}}),
        66..70 => json!({"task": "long", "payload": {"ms": ms(LONG_MS, dice)}}),
        70..78 => json!({"task": "flaky", "payload": {"n": ms(1..3, dice)}}),
        78..83 => json!({"task": "broken"}),
        83..92 => {
            let lane = format!("lane-{}", dice.u64(0..LANES));
            json!({"task": "serial", "payload": {"lane": lane, "ms": ms(0..300, dice)}})
        }
        _ => {
            let key = format!("single-{}", dice.u64(0..LIVE_KEYS));
            let payload = json!({"ms": ms(0..2_000, dice)});
            return (json!({"task": "single", "unique": "LIVE", "bizId": key, "payload": payload}), key);
        }
    };
    job["bizId"] = json!(key);
    job["unique"] = json!("ALWAYS");
    (job, key)
}

impl Load {
    pub(super) fn new(addresses: Addresses) -> Load {
        client_needs_a_provider();
        let client = Client::builder().timeout(ANSWER_LIMIT).no_proxy().build().expect("a client");
        Load {
            addresses,
            client,
            stop: AtomicBool::new(false),
            next: AtomicU64::new(0),
            asked: Mutex::default(),
            words: Mutex::default(),
            sightings: Mutex::default(),
            complaints: Mutex::default(),
            repeats: AtomicU64::new(0),
        }
    }

    /// All goes on beside `meanwhile`; when that has ended, what was begun is brought to its answer.
    pub(super) fn around(&self, seed: u64, meanwhile: impl FnOnce()) {
        std::thread::scope(|scope| {
            for caller in 0..CALLERS {
                scope.spawn(move || self.call(fastrand::Rng::with_seed(seed ^ (caller + 1))));
            }
            scope.spawn(move || self.decide(fastrand::Rng::with_seed(seed ^ 0xff)));
            scope.spawn(move || self.look(fastrand::Rng::with_seed(seed ^ 0xfe)));
            meanwhile();
            self.stop.store(true, Ordering::Relaxed);
        });
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn call(&self, mut dice: fastrand::Rng) {
        while self.goes_on() {
            let (job, key) = job(self.next.fetch_add(1, Ordering::Relaxed), &mut dice);
            let Some(answer) = self.until_known("/jobs", &job, &mut dice) else { continue };
            match answer.body["id"].as_str() {
                Some(id) if answer.status < 300 => {
                    let task = job["task"].as_str().unwrap_or_default().to_owned();
                    let asked = Asked { task, key, id: id.to_owned(), answered_ms: wall_ms() };
                    locked(&self.asked).push(asked);
                }
                _ => locked(&self.complaints).push(format!("a submit was refused: {job}: {answer:?}")),
            }
            pause(Duration::from_millis(dice.u64(GAP_MS)));
        }
    }

    /// A person cancels a job now and then, and thinks better of some.
    fn decide(&self, mut dice: fastrand::Rng) {
        while self.goes_on() {
            pause(Duration::from_millis(dice.u64(500..1_500)));
            let young = |asked: &&Asked| asked.answered_ms > wall_ms() - 20_000 && asked.task != "single";
            let young: Vec<String> = locked(&self.asked).iter().filter(young).map(|asked| asked.id.clone()).collect();
            let Some(id) = dice.choice(&young) else { continue };
            self.say(id, Verb::Cancel, &mut dice);
            if dice.bool() {
                pause(Duration::from_millis(dice.u64(0..3_000)));
                self.say(id, Verb::Retry, &mut dice);
            }
        }
    }

    fn say(&self, id: &str, verb: Verb, dice: &mut fastrand::Rng) {
        let word = if verb == Verb::Cancel { "cancel" } else { "retry" };
        let press = json!({"requestId": format!("{word}-{}", self.next.fetch_add(1, Ordering::Relaxed))});
        let asked_ms = wall_ms();
        let Some(answer) = self.until_known(&format!("/jobs/{id}/{word}"), &press, dice) else { return };
        if !matches!(answer.status, 200 | 409) {
            locked(&self.complaints).push(format!("{word} of {id} was answered so: {answer:?}"));
        }
        let (job, accepted) = (id.to_owned(), answer.status == 200);
        locked(&self.words).push(Word { job, verb, asked_ms, answered_ms: wall_ms(), accepted });
    }

    /// What is final stays as it is.
    fn look(&self, mut dice: fastrand::Rng) {
        while self.goes_on() {
            pause(Duration::from_millis(150));
            let id = dice.choice(locked(&self.asked).iter()).map(|asked| asked.id.clone());
            let (Some(id), Some(base)) = (id, self.addresses.any(&mut dice)) else { continue };
            let at_ms = wall_ms();
            let found = answer(self.client.get(format!("{base}/api/v1/jobs/{id}")).send());
            let Some(job) = found.filter(|found| found.status == 200).map(|found| found.body) else { continue };
            let seen = super::collect::job(&job);
            if !matches!(seen.status.as_str(), "PENDING" | "EXECUTING" | "WAITING") {
                let (status, finish_ms, fence) = (seen.status, seen.finish_ms, seen.fence);
                locked(&self.sightings).push(Sighting { job: id, at_ms, status, finish_ms, fence });
            }
        }
    }

    /// The same request again, to any node, until one knows. A submit has its key and a press its request id, so that is
    /// safe. `None`: nobody knew in a time in which somebody must.
    fn until_known(&self, path: &str, body: &Value, dice: &mut fastrand::Rng) -> Option<Answer> {
        const LIMIT_MS: Ms = 120_000;
        let end_ms = wall_ms() + LIMIT_MS;
        while wall_ms() < end_ms {
            if let Some(base) = self.addresses.any(dice) {
                let sent = self.client.post(format!("{base}/api/v1{path}")).json(body).send();
                match answer(sent) {
                    Some(known) if known.status < 500 && known.status != 429 => return Some(known),
                    _ => self.repeats.fetch_add(1, Ordering::Relaxed),
                };
            }
            pause(Duration::from_millis(dice.u64(50..250)));
        }
        locked(&self.complaints).push(format!("nobody answered {path} {body} within {LIMIT_MS} ms"));
        None
    }
}

pub(super) fn locked<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
