//! Logs: one line each on standard error. A panic is a line too.

use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat};
use crate::failure::{Exit, Failure};

pub(crate) fn start(log: &Log) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(&log.level)
        .map_err(|error| Failure::new(Exit::Configuration, format!("log.level: {error}")))?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match log.format {
        LogFormat::Text => lines.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| Failure::failed(format!("the log cannot be started: {error}")))?;
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref().map(String::as_str));
        let said = text.unwrap_or("a panic without a message");
        tracing::error!(place, thread = std::thread::current().name(), "panic: {said}");
    }));
    Ok(())
}
