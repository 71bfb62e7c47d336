//! The configuration: layers of text and tables in, checked values out, all complaints at once.

mod layers;
mod read;
pub(crate) mod sources;
mod tasks;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mainspring_engine::execute::egress::Allowed;
use mainspring_engine::execute::process::{CommandHandler, CommandTemplate};
use mainspring_model::node::check_labels;
use mainspring_model::{HandlerName, Refused, Span, limits};
use mainspring_store::{PoolSettings, WhenFull};

use read::Reader;

pub(crate) use layers::{Layers, Sources};
pub(crate) use tasks::DeclaredTask;

/// A drain that is longer than this is not a stop.
const DRAIN_SECONDS_MAX: u32 = 24 * 3_600;
const KB: usize = 1024;

#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) listen: SocketAddr,
    pub(crate) database_url: String,
    pub(crate) data_dir: PathBuf,
    pub(crate) node: Node,
    pub(crate) log: Log,
    pub(crate) drain_limit: Duration,
    /// `None`: the handler `http` is off.
    pub(crate) http_allow: Option<Vec<Allowed>>,
    pub(crate) probes: Option<Probes>,
    pub(crate) commands: Vec<Command>,
    pub(crate) tasks: Vec<DeclaredTask>,
    pub(crate) pools: Vec<PoolSettings>,
}

/// What this node says of itself to the others.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) labels: Vec<String>,
    pub(crate) lease: Duration,
}

#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) format: LogFormat,
    pub(crate) level: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Clone)]
pub(crate) struct Probes {
    pub(crate) witness: Option<PathBuf>,
}

#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) handler: CommandHandler,
    pub(crate) description: String,
}

impl Config {
    /// Checked values, or every complaint that there is.
    pub(crate) fn of(layers: &Layers) -> Result<Config, Vec<String>> {
        let mut complaints = layers.complaints.clone();
        let config = Config::read(&mut Reader::of_layers(layers, &mut complaints));
        let in_files = layers.task_files.iter().flat_map(|file| tasks::of_file(file, &mut complaints));
        let in_files: Vec<DeclaredTask> = in_files.collect();
        let config = config.map(|mut config| {
            config.tasks.extend(in_files);
            config
        });
        match config {
            Some(config) if complaints.is_empty() => Ok(config),
            _ => Err(complaints),
        }
    }

    /// `None` only when a value without a fallback is wrong; its complaint is noted.
    fn read(all: &mut Reader<'_>) -> Option<Config> {
        let listen = listen_address(all);
        let data_dir = PathBuf::from(all.text("data.dir").unwrap_or_default());
        if data_dir.as_os_str().is_empty() {
            all.refuse("data.dir", &Refused::field("data.dir", "REQUIRED", "is empty: name a directory"));
        }
        let database_url = all.text("database.url").unwrap_or_default();
        let node = node(all);
        let log = log(all);
        let drain_seconds = all.count("shutdown.drain_seconds", 0, DRAIN_SECONDS_MAX);
        let http = http(all);
        let probes = probes(all);
        let commands = all.entries("commands", command);
        let tasks = all.entries("tasks", tasks::of_entry);
        // What is in them comes with the layers.
        all.list(layers::TASK_FILES);
        let pools = all.entries("pools", pool);
        Some(Config {
            listen: listen?,
            database_url: if database_url.is_empty() { embedded_url(&data_dir) } else { database_url },
            data_dir,
            node: node?,
            log: log?,
            drain_limit: Duration::from_secs(drain_seconds?.into()),
            http_allow: http,
            probes,
            commands,
            tasks,
            pools,
        })
    }
}

/// A database server keeps everything: there is no data directory to be made.
pub(crate) fn is_server_url(url: &str) -> bool {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| ["postgres", "postgresql", "mysql", "mariadb"].contains(&scheme))
}

fn embedded_url(data_dir: &Path) -> String {
    format!("sqlite://{}", data_dir.join("mainspring.db").display())
}

fn node(all: &mut Reader<'_>) -> Option<Node> {
    let name = all.text("node.name").unwrap_or_default();
    let labels = all.list("node.labels");
    if let Some(Err(refused)) = labels.as_deref().map(check_labels) {
        all.refuse("node.labels", &refused);
    }
    let lease = all.parsed::<Span>("node.lease")?;
    let (low, high) = (Span::from_ms(limits::LEASE_MS_MIN), Span::from_ms(limits::LEASE_MS_MAX));
    if lease < low || lease > high {
        let detail = format!("is {lease}, allowed are {low} to {high}");
        all.refuse("node.lease", &Refused::field("node.lease", "OUT_OF_RANGE", detail));
    }
    Some(Node { name: if name.is_empty() { host_name() } else { name }, labels: labels?, lease: lease.0 })
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "localhost".to_owned() } else { name.trim().to_owned() }
}

/// Without accounts, whoever reaches the port may do everything.
fn listen_address(all: &mut Reader<'_>) -> Option<SocketAddr> {
    let text = all.text("server.listen")?;
    let named = text.strip_prefix("localhost:").map(|port| format!("{}:{port}", Ipv4Addr::LOCALHOST));
    let refuse = |all: &mut Reader<'_>, detail: String| {
        all.refuse("server.listen", &Refused::field("server.listen", "ADDRESS", detail));
        None
    };
    match named.as_deref().unwrap_or(&text).parse::<SocketAddr>() {
        Ok(address) if is_loopback(address.ip()) => Some(address),
        Ok(address) => refuse(
            all,
            format!(
                "{address} could be reached by others, and there are no accounts yet (they come with the console): \
                 listen on 127.0.0.1"
            ),
        ),
        Err(_) => refuse(all, format!("`{text}` is not an address and a port such as 127.0.0.1:8700")),
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

fn log(all: &mut Reader<'_>) -> Option<Log> {
    let (format, level) = (all.text("log.format"), all.text("log.level"));
    let format = match format?.as_str() {
        "text" => LogFormat::Text,
        "json" => LogFormat::Json,
        other => {
            let detail = format!("`{other}` is not one of text, json");
            all.refuse("log.format", &Refused::field("log.format", "UNKNOWN_WORD", detail));
            return None;
        }
    };
    let level = level?;
    if let Err(error) = tracing_subscriber::EnvFilter::try_new(&level) {
        let detail = format!("`{level}` is not a level such as info or info,mainspring_engine=debug: {error}");
        all.refuse("log.level", &Refused::field("log.level", "LEVEL", detail));
    }
    Some(Log { format, level })
}

fn http(all: &mut Reader<'_>) -> Option<Vec<Allowed>> {
    let mut allowed = Vec::new();
    for text in all.list("http.allow").unwrap_or_default() {
        match text.parse() {
            Ok(entry) => allowed.push(entry),
            Err(refused) => all.refuse("http.allow", &refused),
        }
    }
    all.flag("http.enabled")?.then_some(allowed)
}

fn probes(all: &mut Reader<'_>) -> Option<Probes> {
    let witness = all.text("probes.witness").filter(|path| !path.is_empty()).map(PathBuf::from);
    all.flag("probes.enabled")?.then_some(Probes { witness })
}

fn command(entry: &mut Reader<'_>) -> Option<Command> {
    let name = entry.text("name");
    let name = entry.required("name", name);
    let program = entry.text("program");
    let program = entry.required("program", program);
    let args = entry.list("args").unwrap_or_default();
    let cwd = entry.text("cwd").filter(|cwd| !cwd.is_empty()).map(PathBuf::from);
    let env = entry.list("env").unwrap_or_default();
    let description = entry.text("description").unwrap_or_default();
    let output_kb = entry.count("output_kb", 1, 1_024);
    let memory_mb = entry.count("memory_mb", 0, u32::MAX).filter(|mb| *mb > 0);
    let kill_grace_ms = entry.count("kill_grace_ms", 0, 60_000);
    let name = HandlerName::new(&format!("command.{}", name?));
    let name = name.map_err(|refused| entry.refuse("name", &refused)).ok()?;
    let mut template = CommandTemplate::new(name, program?).args(args);
    template.cwd = cwd;
    template.env = env;
    template.memory_bytes_max = memory_mb.map(|mb| u64::from(mb) * 1024 * 1024);
    if let Some(kb) = output_kb {
        template.output_bytes_max = kb as usize * KB;
    }
    if let Some(ms) = kill_grace_ms {
        template.kill_grace = Duration::from_millis(ms.into());
    }
    let handler = CommandHandler::new(template).map_err(|refused| entry.refuse("args", &refused)).ok()?;
    Some(Command { handler, description })
}

fn pool(entry: &mut Reader<'_>) -> Option<PoolSettings> {
    let name = entry.parsed("name");
    let name = entry.required("name", name);
    let concurrency = entry.count("concurrency", 1, limits::POOL_CONCURRENCY_MAX);
    let queue_capacity = entry.count("queue_capacity", 1, limits::POOL_QUEUE_MAX);
    let paused = entry.flag("paused");
    let rate_limit = entry.parsed("rate_limit");
    let cluster_concurrency = entry.count("cluster_concurrency", 1, limits::CLUSTER_CONCURRENCY_MAX);
    let when_full = match entry.text("when_full").as_deref() {
        None | Some("spill") => WhenFull::Spill,
        Some("wait") => WhenFull::Wait,
        Some("callerRuns") => WhenFull::CallerRuns,
        Some("reject") => WhenFull::Reject,
        Some(other) => {
            let detail = format!("when_full: `{other}` is not one of spill, wait, callerRuns, reject");
            entry.refuse("when_full", &Refused::field("when_full", "UNKNOWN_WORD", detail));
            return None;
        }
    };
    Some(PoolSettings {
        name: name?,
        concurrency: concurrency.unwrap_or(limits::POOL_CONCURRENCY_DEFAULT),
        queue_capacity: queue_capacity.unwrap_or(limits::POOL_QUEUE_DEFAULT),
        paused: paused.unwrap_or(false),
        when_full,
        rate_limit,
        cluster_concurrency,
    })
}

#[cfg(test)]
mod tests;
