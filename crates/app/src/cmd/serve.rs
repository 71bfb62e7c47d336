//! `mainspring serve`: parts together, run, stop in order.
//!
//! Bodies run on the main runtime, requests on one of their own: handlers that block their threads leave the REST
//! interface able to say so.

use std::fs::DirBuilder;
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mainspring_engine::execute::egress::Egress;
use mainspring_engine::execute::http::HttpHandler;
use mainspring_engine::{Engine, EngineBuilder, Registry, StopReport};
use mainspring_model::{Clock, HandlerName, limits};
use mainspring_server::{AppState, Settings};
use mainspring_store::Store;
use mainspring_store::clock::SystemClock;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::args::Serve;
use crate::config::sources::layers_of;
use crate::config::{Config, DeclaredTask, Node, is_server_url};
use crate::failure::{Exit, Failure};
use crate::probes::{self, Witness};
use crate::signals::StopSignals;
use crate::telemetry;

/// Requests wait for the store, they do not compute.
const REST_THREADS: usize = 2;
/// What a keeper needs beside the grace of its command.
const KEEPER_TIME: Duration = Duration::from_secs(1);
/// Threads of blocking handlers do not end when they are told to; the process does.
const RUNTIME_END: Duration = Duration::from_millis(500);

pub(crate) fn run(args: &Serve) -> Result<(), Failure> {
    let config = Config::of(&layers_of(args)?).map_err(|complaints| Failure::configuration(&complaints))?;
    telemetry::start(&config.log)?;
    let clock = SystemClock::new();
    let registry = handlers(&config, clock.clone())?;
    // Before the database: a second server by mistake should not even touch it.
    let listener = listen(config.listen)?;
    if !is_server_url(&config.database_url) {
        make_data_dir(&config.data_dir)?;
    }
    let bodies = runtime("mainspring-body", None)?;
    let store = bodies.block_on(mainspring_store::open(&config.database_url, clock.clone()))?;

    let requests = runtime("mainspring-rest", Some(REST_THREADS))?;
    let ended = bodies.block_on(serve(&config, store, registry, listener, &requests));
    requests.shutdown_timeout(RUNTIME_END);
    bodies.shutdown_timeout(RUNTIME_END);
    ended
}

/// Payloads and results are in it.
fn make_data_dir(dir: &Path) -> Result<(), Failure> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|error| unusable(&format!("data directory {}", dir.display()), &error))
}

fn runtime(name: &str, threads: Option<usize>) -> Result<Runtime, Failure> {
    let mut builder = Builder::new_multi_thread();
    builder.enable_all().thread_name(name);
    if let Some(threads) = threads {
        builder.worker_threads(threads);
    }
    builder.build().map_err(|error| Failure::failed(format!("no threads: {error}")))
}

fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    let listener = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    listener.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => {
            let message =
                format!("something else listens on {address}: stop it, or give this server another with --listen");
            Failure::new(Exit::Unavailable, message)
        }
        _ => unusable(&format!("address {address}"), &error),
    })
}

fn unusable(what: &str, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Configuration, format!("{what} cannot be used: {error}"))
}

fn handlers(config: &Config, clock: Arc<dyn Clock>) -> Result<Registry, Failure> {
    let mut registry = Registry::default();
    if let Some(allow) = &config.http_allow {
        match HttpHandler::new(Egress::new(allow.clone()), clock.clone()) {
            Ok(handler) => {
                let description = "Calls the URL that the payload names";
                registry.add(HandlerName::stored("http"), "http", description, Arc::new(handler));
            }
            // A machine without certificates can still do everything else.
            Err(refused) => tracing::warn!(reason = %refused, "the handler `http` is off"),
        }
    }
    for command in &config.commands {
        let template = command.handler.template();
        let description = if command.description.is_empty() {
            format!("Runs {}", template.program)
        } else {
            command.description.clone()
        };
        registry.add(template.name.clone(), "command", &description, Arc::new(command.handler.clone()));
    }
    if let Some(probes) = &config.probes {
        let witness = Witness::open(probes.witness.as_deref(), clock).map_err(|error| {
            let path = probes.witness.as_deref().unwrap_or(Path::new("")).display();
            unusable(&format!("probes.witness {path}"), &error)
        })?;
        probes::register(&mut registry, witness);
    }
    Ok(registry)
}

async fn serve(
    config: &Config,
    store: Arc<dyn Store>,
    registry: Registry,
    listener: TcpListener,
    requests: &Runtime,
) -> Result<(), Failure> {
    let signals = StopSignals::listen();
    let mut signals = signals.map_err(|error| Failure::failed(format!("no signals: {error}")))?;
    let place = store.info().place;
    let engine = start_engine(config, store, registry).await?;
    let address = listener.local_addr().map_err(|error| unusable("the listening address", &error))?;
    let shutdown = CancellationToken::new();
    let rest = requests.spawn({
        let (state, shutdown) = (AppState::new(engine.clone(), Settings::default()), shutdown.clone());
        async move { mainspring_server::serve(tokio::net::TcpListener::from_std(listener)?, state, shutdown).await }
    });
    say_hello(address, &place, config);
    tracing::info!(%address, database = place, "ready");

    signals.next().await;
    tracing::info!(limit = ?config.drain_limit, "stopping: running jobs may end; a second signal gives back at once");
    // Requests are answered to the end of the drain: people want to see it.
    let report = drain(&engine, config.drain_limit, &mut signals).await;
    shutdown.cancel();
    match rest.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!(%error, "the REST interface ended badly"),
        Err(error) => tracing::error!(%error, "the REST interface ended badly"),
    }
    say_goodbye(report)
}

/// What the engine says of itself to the other nodes.
fn as_node(node: &Node, builder: EngineBuilder) -> EngineBuilder {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    builder.node_name(node.name.clone(), version).labels(node.labels.clone()).lease(node.lease)
}

async fn start_engine(config: &Config, store: Arc<dyn Store>, registry: Registry) -> Result<Engine, Failure> {
    let mut builder = as_node(&config.node, Engine::builder(store).handlers(registry));
    // A command's whole tree has its time to end before the engine counts its body as gone.
    let kill_graces = config.commands.iter().map(|command| command.handler.template().kill_grace + KEEPER_TIME);
    if let Some(longest) = kill_graces.max() {
        builder = builder.cancel_grace(longest.max(Duration::from_millis(limits::CANCEL_GRACE_MS)));
    }
    for pool in &config.pools {
        builder = builder.pool(pool.clone());
    }
    for task in &config.tasks {
        builder = builder.declare(task.code.clone(), task.definition.clone());
    }
    builder.start().await.map_err(|error| match error {
        mainspring_engine::Error::Refused(refused) => {
            // The engine says which task; people look for it in a file.
            let told = |task: &&DeclaredTask| refused.detail.starts_with(&format!("task `{}`: ", task.code));
            let place = config.tasks.iter().find(told).map_or_else(String::new, |task| format!("{}: ", task.place));
            let hint = refused.hint.as_ref().map_or_else(String::new, |hint| format!("; {hint}"));
            Failure::new(Exit::Configuration, format!("{place}{refused}{hint}"))
        }
        unavailable => Failure::new(Exit::Unavailable, unavailable.to_string()),
    })
}

async fn drain(engine: &Engine, limit: Duration, signals: &mut StopSignals) -> StopReport {
    let mut stopping = std::pin::pin!(engine.stop(limit));
    tokio::select! {
        report = &mut stopping => report,
        () = signals.next() => {
            tracing::warn!("second signal: what runs is given back now");
            // The first stop goes on, because it may be in the middle of a write; with no body left it ends.
            let (first, second) = tokio::join!(stopping, engine.stop(Duration::ZERO));
            StopReport {
                given_back: first.given_back + second.given_back,
                given_up: first.given_up + second.given_up,
                unwritten: first.unwritten.max(second.unwritten),
            }
        }
    }
}

/// The first lines that a person sees. A closed standard output does not stop a server.
fn say_hello(address: SocketAddr, place: &str, config: &Config) {
    let server = if address.port() == 8700 { String::new() } else { format!(" --server http://{address}") };
    let first = match (&config.probes, config.tasks.first()) {
        (_, Some(task)) => format!("mainspring submit {} --wait{server}", task.code),
        (Some(_), None) => {
            format!("mainspring task create hello --handler probe.ok{server} && mainspring submit hello --wait{server}")
        }
        (None, None) => format!(
            "mainspring task create hello --handler http{server} && \
             mainspring submit hello --payload '{{\"url\": \"https://example.com/\"}}' --wait{server}"
        ),
    };
    let text = format!(
        "mainspring {} listens on http://{address}\n  data   {place}\n  docs   http://{address}/docs\n  first  {first}\n",
        env!("CARGO_PKG_VERSION"),
    );
    let mut stdout = std::io::stdout();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).ok();
}

fn say_goodbye(report: StopReport) -> Result<(), Failure> {
    let StopReport { given_back, given_up, unwritten } = report;
    tracing::info!(given_back, given_up, unwritten, "stopped");
    if unwritten > 0 {
        return Err(Failure::failed(format!("{unwritten} outcomes could not be written; their jobs run again")));
    }
    Ok(())
}
