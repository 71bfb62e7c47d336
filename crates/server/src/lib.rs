//! The REST interface of Mainspring: the router as a table of contents.
//!
//! A request passes `guard` (whose page, which host, time limit, panic wall), is read strictly (`body`, `extract`,
//! `query`, `path`), asks the engine, and is answered in the shapes of `wire` or with a `problem`. Decisions about jobs and
//! tasks are not made here. There are no accounts yet: the binary binds loopback addresses only.

mod api;
mod body;
mod docs_page;
mod extract;
mod from_json;
mod guard;
pub mod limits;
mod nearest;
mod openapi;
mod page;
mod path;
mod pressed;
pub mod problem;
mod query;
mod serve;
mod stall;
mod state;
pub mod wire;

use std::sync::Arc;

use axum::Router;
use axum::http::{Method, Uri};
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use api::apply::{Declared, declared};
use api::{
    apply, attempts, batch, calendars, cron, dead_jobs, fires, health, jobs, nodes, operations, output, pools, submit,
    switch, tasks, trigger,
};
pub use guard::guard;
pub use openapi::document;
pub use problem::Problem;
pub use serve::serve;
pub use state::{AppState, Hosts, Settings};

/// Everything that is in the document.
fn routes() -> OpenApiRouter<AppState> {
    let v1 = OpenApiRouter::new()
        .routes(routes!(submit::submit, jobs::list_jobs))
        .routes(routes!(batch::submit_batch))
        .routes(routes!(jobs::show_job))
        .routes(routes!(operations::retry_job))
        .routes(routes!(operations::cancel_job))
        .routes(routes!(operations::fail_job))
        .routes(routes!(operations::release_job))
        .routes(routes!(dead_jobs::list_dead_jobs))
        .routes(routes!(attempts::attempts_of_job))
        .routes(routes!(attempts::attempts_of_task))
        .routes(routes!(attempts::show_attempt))
        .routes(routes!(output::show_output))
        .routes(routes!(tasks::list_tasks, tasks::create_task))
        .routes(routes!(tasks::show_task, tasks::put_task, tasks::patch_task, tasks::delete_task))
        .routes(routes!(apply::apply_tasks))
        .routes(routes!(switch::enable_task))
        .routes(routes!(switch::disable_task))
        .routes(routes!(switch::copy_task))
        .routes(routes!(trigger::trigger_task))
        .routes(routes!(fires::next_fires))
        .routes(routes!(fires::backfill_task))
        .routes(routes!(calendars::list_calendars))
        .routes(routes!(calendars::show_calendar, calendars::put_calendar, calendars::delete_calendar))
        .routes(routes!(pools::list_pools))
        .routes(routes!(pools::show_pool, pools::put_pool))
        .routes(routes!(nodes::list_nodes))
        .routes(routes!(nodes::drain_node))
        .routes(routes!(nodes::list_handlers))
        .routes(routes!(cron::preview_cron));
    OpenApiRouter::with_openapi(openapi::Document::openapi())
        .nest("/api/v1", v1)
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
}

pub fn router(state: AppState) -> Router {
    let (router, document) = routes().split_for_parts();
    let pages = Arc::new(openapi::Pages::new(&document));
    let docs = Arc::clone(&pages);
    router
        .route("/openapi.json", get(move || async move { pages.openapi() }))
        .route("/docs", get(move || async move { docs.docs() }))
        .route("/docs/style.css", get(docs_page::style))
        .fallback(no_such_address)
        .method_not_allowed_fallback(no_such_method)
        .layer(from_fn_with_state(state.clone(), guard))
        .with_state(state)
}

async fn no_such_address(uri: Uri) -> Problem {
    let shown = mainspring_model::text::excerpt(uri.path(), 80);
    Problem::own("NOT_FOUND", format!("there is nothing at {shown}")).hint("the addresses are listed at /docs")
}

async fn no_such_method(method: Method, uri: Uri) -> Problem {
    let shown = mainspring_model::text::excerpt(uri.path(), 80);
    Problem::own("METHOD_NOT_ALLOWED", format!("{method} does not work on {shown}"))
        .hint("the header Allow lists what does")
}
