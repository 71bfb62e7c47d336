//! Pools: bounded execution slots, and what runs in them.

use axum::extract::State;
use axum::http::HeaderMap;
use mainspring_engine::{Engine, PoolView};
use mainspring_model::limits::{
    CLUSTER_CONCURRENCY_MAX, POOL_CONCURRENCY_DEFAULT, POOL_CONCURRENCY_MAX, POOL_QUEUE_DEFAULT, POOL_QUEUE_MAX,
};
use mainspring_model::{Code, PoolName, RateLimit, Refused};
use mainspring_store::{PoolSettings, WhenFull};

use super::{Answer, actor, ok};
use crate::body::JsonBody;
use crate::extract::{Fields, Given};
use crate::openapi::Refusals;
use crate::path::PathOf;
use crate::problem::Problem;
use crate::query::NoParams;
use crate::state::AppState;
use crate::wire;

const WHEN_FULL: [(&str, WhenFull); 4] = [
    ("spill", WhenFull::Spill),
    ("wait", WhenFull::Wait),
    ("callerRuns", WhenFull::CallerRuns),
    ("reject", WhenFull::Reject),
];

/// List pools
#[utoipa::path(
    get, path = "/pools", tag = "pools",
    responses((status = 200, description = "All pools", body = wire::List<wire::Pool>), Refusals)
)]
pub(crate) async fn list_pools(State(state): State<AppState>, _: NoParams) -> Answer {
    let pools = state.engine.pools().await?;
    ok(&wire::List { items: pools.into_iter().map(shown).collect::<Vec<_>>() })
}

/// Show a pool
#[utoipa::path(
    get, path = "/pools/{name}", tag = "pools", params(("name" = String, Path, description = "The pool's name")),
    responses(
        (status = 200, description = "The pool", body = wire::Pool),
        (status = 404, description = "POOL_NOT_FOUND", body = wire::Problem, content_type = "application/problem+json"),
        Refusals,
    )
)]
pub(crate) async fn show_pool(State(state): State<AppState>, PathOf(name): PathOf<PoolName>, _: NoParams) -> Answer {
    let missing = || Refused::new(Code::PoolNotFound, format!("there is no pool `{name}`"));
    let pool = find(&state.engine, &name).await?.ok_or_else(missing)?;
    ok(&shown(pool))
}

/// Create or change a pool
#[utoipa::path(
    put, path = "/pools/{name}", tag = "pools", params(("name" = String, Path, description = "The pool's name")),
    request_body = wire::PoolChange,
    responses((status = 200, description = "The pool", body = wire::Pool), Refusals)
)]
pub(crate) async fn put_pool(
    State(state): State<AppState>,
    PathOf(name): PathOf<PoolName>,
    headers: HeaderMap,
    _: NoParams,
    JsonBody(body): JsonBody,
) -> Answer {
    let mut fields = Fields::of(&body)?;
    let concurrency = fields.number("concurrency", 1, POOL_CONCURRENCY_MAX);
    let queue_capacity = fields.number("queueCapacity", 1, POOL_QUEUE_MAX);
    let paused = fields.optional("paused");
    let when_full: Option<String> = fields.optional("whenFull");
    let when_full = when_full.and_then(|word| fields.complaints.keep("whenFull", read_when_full(&word)));
    let rate_limit: Given<RateLimit> = fields.given("rateLimit");
    let cluster_concurrency = fields.given_number("clusterConcurrency", 1, CLUSTER_CONCURRENCY_MAX);
    fields.finish(Some(()))?;
    let now = find(&state.engine, &name).await?.map_or_else(
        || PoolSettings {
            name,
            concurrency: POOL_CONCURRENCY_DEFAULT,
            queue_capacity: POOL_QUEUE_DEFAULT,
            paused: false,
            when_full: WhenFull::Spill,
            rate_limit: None,
            cluster_concurrency: None,
        },
        |pool| pool.settings,
    );
    let settings = PoolSettings {
        concurrency: concurrency.unwrap_or(now.concurrency),
        queue_capacity: queue_capacity.unwrap_or(now.queue_capacity),
        paused: paused.unwrap_or(now.paused),
        when_full: when_full.unwrap_or(now.when_full),
        rate_limit: rate_limit.or_stay(now.rate_limit),
        cluster_concurrency: cluster_concurrency.or_stay(now.cluster_concurrency),
        name: now.name,
    };
    ok(&shown(state.engine.put_pool(settings, &actor(&headers)).await?))
}

async fn find(engine: &Engine, name: &PoolName) -> Result<Option<PoolView>, Problem> {
    Ok(engine.pools().await?.into_iter().find(|pool| pool.settings.name == *name))
}

fn read_when_full(word: &str) -> Result<WhenFull, Refused> {
    let found = WHEN_FULL.iter().find(|(known, _)| *known == word);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known = WHEN_FULL.map(|(known, _)| known).join(", ");
        let shown = mainspring_model::text::excerpt(word, 40);
        Refused::field("whenFull", "UNKNOWN_WORD", format!("`{shown}` is not one of {known}"))
    })
}

fn shown(pool: PoolView) -> wire::Pool {
    let settings = pool.settings;
    wire::Pool {
        name: settings.name,
        concurrency: settings.concurrency,
        queue_capacity: settings.queue_capacity,
        paused: settings.paused,
        when_full: WHEN_FULL.iter().find(|(_, value)| *value == settings.when_full).map_or("spill", |(word, _)| word),
        rate_limit: settings.rate_limit,
        cluster_concurrency: settings.cluster_concurrency,
        running: pool.running,
        held: pool.held,
        zombies: pool.zombies,
        queued: pool.queued.jobs,
        queued_capped: pool.queued.capped,
        limited: pool.limited.jobs,
        rate_limited: pool.rate_limited.jobs,
        no_handler: pool.no_handler.jobs,
        oldest_due: pool.oldest_due,
    }
}
