//! `mainspring config …`: every value and where it comes from, also when some of it is wrong.

use mainspring_store::without_secrets;
use serde_json::json;

use crate::args::{self, Format};
use crate::config::sources::layers_of;
use crate::config::{Config, Layers};
use crate::failure::Failure;
use crate::print;

pub(crate) fn run(command: &args::Config, format: Format) -> Result<(), Failure> {
    let args::Config::Explain(serve) = command;
    let layers = layers_of(serve)?;
    explain(&layers, format)?;
    Config::of(&layers).map(drop).map_err(|complaints| Failure::configuration(&complaints))
}

fn explain(layers: &Layers, format: Format) -> Result<(), Failure> {
    let shown = layers.values.iter().map(|(key, layered)| {
        let value = match (key.as_str(), layered.value.as_str()) {
            // This output is pasted into tickets.
            ("database.url", Some(url)) => without_secrets(url).into(),
            _ => layered.value.clone(),
        };
        (key, value, layered.origin.to_string())
    });
    match format {
        Format::Json => {
            let items: Vec<_> =
                shown.map(|(key, value, from)| json!({ "key": key, "value": value, "from": from })).collect();
            print::json(&json!({ "items": items }))
        }
        Format::Table => {
            let rows = shown.map(|(key, value, from)| vec![key.clone(), value.to_string(), from]).collect();
            print::table(&["KEY".to_owned(), "VALUE".to_owned(), "FROM".to_owned()], rows)
        }
    }
}
