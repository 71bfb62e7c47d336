//! Cron expressions, tried out before they are saved.

use axum::extract::State;
use mainspring_model::Refused;
use mainspring_model::cron::{CronError, Start, preview};
use mainspring_model::limits::{CRON_PREVIEW_FIRES_DEFAULT, CRON_PREVIEW_FIRES_MAX};

use super::{Answer, ok};
use crate::body::JsonBody;
use crate::extract::Fields;
use crate::openapi::Refusals;
use crate::query::NoParams;
use crate::state::AppState;
use crate::wire;

/// Preview a cron expression
#[utoipa::path(
    post, path = "/cron/preview", tag = "cron", request_body = wire::CronPreviewRequest,
    responses(
        (status = 200, description = "What it means and when it fires; no fires when it never does", body = wire::CronPreview),
        Refusals,
    )
)]
pub(crate) async fn preview_cron(State(state): State<AppState>, _: NoParams, JsonBody(body): JsonBody) -> Answer {
    let mut fields = Fields::of(&body)?;
    let expression: Option<String> = fields.required("expression");
    let zone: Option<String> = fields.optional("timeZone");
    let from: Option<Start> = fields.optional("from");
    let count = fields.number("count", 1, CRON_PREVIEW_FIRES_MAX);
    let expression = fields.finish(expression)?;
    let zone = zone.as_deref().unwrap_or("UTC");
    let from = from.unwrap_or_else(|| state.engine.clock().now().into());
    let shown = preview(&expression, zone, from, count.unwrap_or(CRON_PREVIEW_FIRES_DEFAULT)).map_err(refused)?;
    ok(&wire::CronPreview::from(shown))
}

/// The member of this body has a shorter name than that of a task.
fn refused(error: CronError) -> Refused {
    let mut refused = Refused::from(error);
    for error in refused.errors.iter_mut().filter(|error| error.field == "cronExpression") {
        "expression".clone_into(&mut error.field);
    }
    refused
}
