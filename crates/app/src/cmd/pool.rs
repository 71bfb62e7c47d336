//! `mainspring pool …`.

use serde_json::{Value, json};

use crate::args::{Format, Limit, Pool};
use crate::client::{Client, Query};
use crate::failure::Failure;
use crate::print;

const FIELDS: [&str; 15] = [
    "name",
    "concurrency",
    "clusterConcurrency",
    "queueCapacity",
    "paused",
    "whenFull",
    "rateLimit",
    "running",
    "held",
    "queued",
    "limited",
    "rateLimited",
    "noHandler",
    "zombies",
    "oldestDue",
];

pub(crate) async fn run(command: Pool, client: &Client, format: Format) -> Result<(), Failure> {
    match command {
        Pool::List => print::list(format, &client.get(&["pools"], Query::new()).await?, &FIELDS),
        Pool::Set(args) => {
            let mut body = json!({});
            if let Some(concurrency) = args.concurrency {
                body["concurrency"] = concurrency.into();
            }
            if let Some(queue_capacity) = args.queue_capacity {
                body["queueCapacity"] = queue_capacity.into();
            }
            if let Some(when_full) = args.when_full {
                body["whenFull"] = when_full.into();
            }
            if let Some(rate) = args.rate_limit {
                body["rateLimit"] = if rate.is_empty() { Value::Null } else { rate.into() };
            }
            if let Some(Limit(jobs)) = args.cluster_concurrency {
                body["clusterConcurrency"] = jobs.map_or(Value::Null, Value::from);
            }
            if args.pause || args.resume {
                body["paused"] = args.pause.into();
            }
            print::object(format, &client.put(&["pools", &args.name], &body).await?, &FIELDS)
        }
    }
}
