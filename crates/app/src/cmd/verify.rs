//! `mainspring verify`: the invariants that can be seen in a database at rest.

use mainspring_store::clock::SystemClock;
use serde_json::json;

use crate::args::{Format, Place};
use crate::config::sources::config_of;
use crate::failure::{Exit, Failure};
use crate::print;

pub(crate) async fn run(place: &Place, format: Format) -> Result<(), Failure> {
    let config = config_of(place)?;
    if !mainspring_store::exists(&config.database_url).await? {
        // Opening would make it, and an empty database is always right.
        let place = mainspring_store::without_secrets(&config.database_url);
        let message = format!("there is no database of Mainspring at {place}: name one with --database or --data-dir");
        return Err(Failure::new(Exit::Configuration, message));
    }
    let store = mainspring_store::open(&config.database_url, SystemClock::new()).await?;
    let violations = store.verify().await.map_err(|error| Failure::failed(error.to_string()))?;
    match format {
        Format::Json => {
            let items: Vec<_> = violations
                .iter()
                .map(|violation| json!({ "invariant": violation.invariant, "detail": violation.detail }))
                .collect();
            print::json(&json!({ "place": store.info().place, "violations": items }))?;
        }
        Format::Table => {
            for violation in &violations {
                print::out(&format!("{}: {}\n", violation.invariant, violation.detail))?;
            }
            print::out(&format!("{}: {} violations\n", store.info().place, violations.len()))?;
        }
    }
    if violations.is_empty() { Ok(()) } else { Err(Failure::failed("")) }
}
