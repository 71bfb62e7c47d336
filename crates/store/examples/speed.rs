//! How fast the SQLite store is on this machine: `cargo run --release -p mainspring-store --example speed`.
use std::sync::Arc;
use std::time::Instant;

use mainspring_model::decide::{Decision, Next};
use mainspring_model::*;
use mainspring_store::clock::SystemClock;
use mainspring_store::*;

fn main() {
    let dir = std::path::PathBuf::from(std::env::args().nth(1).unwrap_or("/tmp/speed".into()));
    let jobs_total: i64 = std::env::args().nth(2).map_or(300_000, |n| n.parse().unwrap());
    let _ = std::fs::remove_dir_all(&dir);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(dir.join("m.db"), SystemClock::new()).unwrap());
        let t0 = Timestamp::from_ms(1_790_000_000_000);
        let owner = Incarnation(5);
        let task = TaskCode::stored("a");
        store
            .create_task(task.clone(), TaskDefinition::new("a", HandlerName::stored("a")), "me".into(), t0)
            .await
            .unwrap();
        store.join(NewNode { incarnation: owner, host: "h".into(), pid: 1, version: "1".into() }, t0).await.unwrap();
        for (claim, batch_jobs, with_key) in
            [(true, 64, false), (false, 64, false), (false, 1000, false), (true, 64, true)]
        {
            let mut ids = ids::JobIds::new(1);
            let offset = Timestamp::from_ms(
                t0.as_ms() + batch_jobs * 1_000_000 + i64::from(claim) * 500_000 + i64::from(with_key) * 250_000,
            );
            let mut latencies = vec![];
            let start = Instant::now();
            let mut n = 0;
            while n < jobs_total {
                let jobs: Vec<NewJob> = (0..batch_jobs)
                    .map(|_| {
                        n += 1;
                        let id = ids.next(offset);
                        NewJob {
                            id,
                            task: task.clone(),
                            biz_id: with_key.then(|| BizId::stored(&format!("order-{}", id.0))),
                            unique: Unique::Live,
                            payload: Some(Arc::from("{\"order\":123456,\"to\":\"someone@example.org\"}")),
                            execute_time: t0,
                            priority: Priority::Normal,
                            max_retry: 3,
                            timeout_ms: None,
                            pool: PoolName::default_pool(),
                            trigger: Trigger::Submit,
                            fire_time: None,
                            create_time: t0,
                            claim,
                        }
                    })
                    .collect();
                let at = Instant::now();
                store.submit(owner, jobs).await.unwrap();
                latencies.push(at.elapsed().as_micros());
            }
            let rate = n as f64 / start.elapsed().as_secs_f64();
            latencies.sort();
            let p = |q: f64| latencies[(latencies.len() as f64 * q) as usize];
            println!(
                "submit claim={claim} key={with_key} batch={batch_jobs}: {rate:.0}/s  p50 {} p99 {} max {} us",
                p(0.5),
                p(0.99),
                latencies.last().unwrap()
            );
            // claim + settle
            let start = Instant::now();
            let mut latencies = vec![];
            let mut done = 0;
            let mut all: Vec<(JobId, Fence)> = vec![];
            if claim {
                let mut again = ids::JobIds::new(1);
                for _ in 0..n {
                    all.push((again.next(offset), Fence(1)));
                }
            }
            let mut cursor = 0;
            while done < n {
                let held: Vec<(JobId, Fence)> = if claim {
                    let to = (cursor + 250).min(all.len());
                    let s = all[cursor..to].to_vec();
                    cursor = to;
                    s
                } else {
                    store
                        .claim(ClaimRequest {
                            owner,
                            due_until: t0,
                            rooms: vec![PoolRoom { pool: PoolName::default_pool(), jobs_max: 250 }],
                        })
                        .await
                        .unwrap()
                        .jobs
                        .into_iter()
                        .map(|c| (c.id, c.fence))
                        .collect()
                };
                done += held.len() as i64;
                let settlements = held
                    .into_iter()
                    .map(|(id, fence)| Settlement {
                        held: Held { id, fence },
                        task: task.clone(),
                        attempt: 1,
                        node: 1,
                        start_time: t0,
                        finish_time: t0,
                        decision: Decision {
                            attempt: AttemptStatus::Success,
                            next: Next::Final { status: JobStatus::Success, dead: None, stop_task: false },
                            result: None,
                            error: None,
                        },
                        live_key: with_key.then(|| BizId::stored(&format!("order-{}", id.0))),
                        start_written: false,
                    })
                    .collect();
                let at = Instant::now();
                let r = store.settle(settlements, t0).await.unwrap();
                latencies.push(at.elapsed().as_micros());
                assert!(r.iter().all(|s| *s == Settled::Applied));
            }
            let rate = n as f64 / start.elapsed().as_secs_f64();
            latencies.sort();
            let p = |q: f64| latencies[(latencies.len() as f64 * q) as usize];
            println!(
                "  claim+settle 250 (claim verb: {}): {rate:.0}/s  settle p50 {} p99 {} max {} us",
                !claim,
                p(0.5),
                p(0.99),
                latencies.last().unwrap()
            );
        }
        let wal = std::fs::metadata(dir.join("m.db-wal")).unwrap().len();
        println!("wal {} MB, db {} MB", wal >> 20, std::fs::metadata(dir.join("m.db")).unwrap().len() >> 20);
    });
}
