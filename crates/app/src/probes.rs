//! Handlers for trials: each misbehaves in one way, and all of them leave a line at their start and at their end.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mainspring_engine::{BlockingHandler, Context, Handler, Registry};
use mainspring_model::{Clock, HandlerName, Verdict};
use serde_json::Value;

/// A sleep or a spin of a payload that does not say how long.
const MS_DEFAULT: u64 = 1_000;
const FAILURES_DEFAULT: u64 = 1;

/// Where the lines go: job id, attempt, fence, process id, wall time in ms, `start` or `end`, with tabs between.
#[derive(Debug)]
pub(crate) struct Witness {
    file: Option<File>,
    clock: Arc<dyn Clock>,
}

impl Witness {
    pub(crate) fn open(path: Option<&Path>, clock: Arc<dyn Clock>) -> std::io::Result<Witness> {
        let file = path.map(|path| File::options().append(true).create(true).open(path)).transpose()?;
        Ok(Witness { file, clock })
    }

    /// One write of one line on a descriptor that appends: lines of several processes never mix.
    fn note(&self, context: &Context, what: &str) {
        let Some(mut file) = self.file.as_ref() else { return };
        let (job, attempt, fence) = (context.job_id(), context.attempt(), context.fence());
        let (pid, now_ms) = (std::process::id(), self.clock.now().as_ms());
        let line = format!("{job}\t{attempt}\t{fence}\t{pid}\t{now_ms}\t{what}\n");
        if let Err(error) = file.write_all(line.as_bytes()) {
            tracing::error!(%error, "the witness file cannot be written");
        }
    }

    fn body(self: &Arc<Witness>, context: &Context) -> BodyNoted {
        self.note(context, "start");
        BodyNoted { witness: self.clone(), context: context.clone() }
    }
}

/// The end of a body is noted however it comes: returned, dropped at its deadline, or in a panic.
struct BodyNoted {
    witness: Arc<Witness>,
    context: Context,
}

impl Drop for BodyNoted {
    fn drop(&mut self) {
        self.witness.note(&self.context, "end");
    }
}

#[derive(Debug, Clone, Copy)]
enum Probe {
    Ok,
    Sleep,
    Fail,
    FailN,
    Panic,
    Die,
}

#[derive(Debug)]
struct AsyncProbe {
    probe: Probe,
    witness: Arc<Witness>,
}

#[async_trait]
impl Handler for AsyncProbe {
    async fn handle(&self, context: Context) -> Verdict {
        let _noted = self.witness.body(&context);
        match self.probe {
            Probe::Ok => Verdict::done(),
            Probe::Sleep => {
                let length = Duration::from_millis(number(&context, "ms", MS_DEFAULT));
                tokio::select! {
                    biased;
                    () = context.cancelled() => Verdict::Cancelled,
                    () = self.witness.clock.sleep(length) => Verdict::done(),
                }
            }
            Probe::Fail => Verdict::retry("the probe fails, as it was asked to"),
            Probe::FailN => {
                let failures = number(&context, "n", FAILURES_DEFAULT);
                if u64::from(context.attempt()) <= failures {
                    Verdict::retry(format!("failure {} of {failures}", context.attempt()))
                } else {
                    Verdict::done()
                }
            }
            Probe::Panic => panic!("the probe panics, as it was asked to"),
            Probe::Die => std::process::abort(),
        }
    }
}

/// Computes without looking up: the body that no cancellation reaches.
#[derive(Debug)]
struct Spin {
    witness: Arc<Witness>,
}

impl BlockingHandler for Spin {
    fn handle(&self, context: Context) -> Verdict {
        let _noted = self.witness.body(&context);
        let clock = &self.witness.clock;
        let end = clock.monotonic() + Duration::from_millis(number(&context, "ms", MS_DEFAULT));
        while clock.monotonic() < end {
            std::hint::spin_loop();
        }
        Verdict::done()
    }
}

fn number(context: &Context, field: &str, default: u64) -> u64 {
    let payload: Value = serde_json::from_str(context.payload()).unwrap_or_default();
    payload.get(field).and_then(Value::as_u64).unwrap_or(default)
}

pub(crate) fn register(registry: &mut Registry, witness: Witness) {
    let witness = Arc::new(witness);
    let name = |text: &str| HandlerName::stored(text);
    for (text, probe, description) in [
        ("probe.ok", Probe::Ok, "Ends at once, well"),
        ("probe.sleep", Probe::Sleep, "Sleeps for {ms}, and ends at a cancellation"),
        ("probe.fail", Probe::Fail, "Fails every time"),
        ("probe.fail_n", Probe::FailN, "Fails in its first {n} attempts"),
        ("probe.panic", Probe::Panic, "Panics"),
        ("probe.die", Probe::Die, "Ends the whole process at once"),
    ] {
        registry.add(name(text), "probe", description, Arc::new(AsyncProbe { probe, witness: witness.clone() }));
    }
    let description = "Computes for {ms} and never looks at its cancellation";
    registry.add_blocking(name("probe.spin"), description, Arc::new(Spin { witness }));
}
