//! One file per command.

pub(crate) mod bench;
pub(crate) mod calendar;
pub(crate) mod config;
pub(crate) mod cron;
pub(crate) mod history;
pub(crate) mod job;
pub(crate) mod migrate;
pub(crate) mod node;
pub(crate) mod pool;
pub(crate) mod serve;
pub(crate) mod submit;
pub(crate) mod task;
pub(crate) mod verify;

use std::io::Read;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::args::task::Request;
use crate::failure::Failure;

/// `JSON`, `@FILE`, or `-` for standard input. Kept as it was written: numbers too large for this program stay whole.
fn json_argument(text: &str) -> Result<Box<RawValue>, Failure> {
    let (place, json) = match text.strip_prefix('@') {
        Some(path) => {
            let read = std::fs::read_to_string(path);
            (path, read.map_err(|error| Failure::refused(format!("{path} cannot be read: {error}")))?)
        }
        None if text == "-" => {
            let mut read = String::new();
            let done = std::io::stdin().read_to_string(&mut read);
            done.map_err(|error| Failure::refused(format!("standard input cannot be read: {error}")))?;
            ("standard input", read)
        }
        None => ("the argument", text.to_owned()),
    };
    let json = json.trim().to_owned();
    RawValue::from_string(json).map_err(|error| {
        Failure::refused(format!("{place} is not JSON: {error}; text is written with quotes: '\"text\"'"))
    })
}

/// A file's name for complaints, and its text; `-` is standard input.
fn read_file(file: &str) -> Result<(String, String), Failure> {
    let (name, read) = if file == "-" {
        ("standard input", std::io::read_to_string(std::io::stdin()))
    } else {
        (file, std::fs::read_to_string(file))
    };
    match read {
        Ok(text) => Ok((name.to_owned(), text)),
        Err(error) => Err(Failure::refused(format!("{name} cannot be read: {error}"))),
    }
}

/// The body with the id by which a repeat is known.
fn requested(mut body: Value, request: Request) -> Value {
    if let Some(id) = request.id {
        body["requestId"] = id.into();
    }
    body
}

/// What is there, as query parameters.
fn query(parameters: &[(&'static str, Option<String>)]) -> crate::client::Query {
    parameters.iter().filter_map(|(name, value)| Some((*name, value.clone()?))).collect()
}
