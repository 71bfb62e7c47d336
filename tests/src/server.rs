//! One server process and a client for it.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use reqwest::blocking::Client;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::eventually;
use crate::fake_clock::FakeClock;
use crate::witness::Witness;

/// The server under test: built by whoever runs the tests, or here, once.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(path) = std::env::var_os("MAINSPRING_BIN") {
            return path.into();
        }
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(cargo).args(["build", "--package", "mainspring-app"]).status();
        assert!(built.is_ok_and(|status| status.success()), "the server was not built");
        // …/target/<profile>/deps/<this test>
        let this = std::env::current_exe().expect("the path of this test");
        let profile = this.parent().and_then(Path::parent).expect("tests lie in target/<profile>/deps");
        profile.join("mainspring")
    })
}

#[derive(Debug, Clone, Default)]
pub struct Options {
    /// More lines for the configuration file.
    pub config: String,
    /// `--dev`, with probes on.
    pub not_dev: bool,
    pub no_probes: bool,
    /// Otherwise an embedded one in the directory.
    pub database: Option<String>,
    /// Otherwise one in the directory.
    pub witness: Option<PathBuf>,
    /// A wall clock of its own.
    pub clock: Option<FakeClock>,
}

#[derive(Debug)]
pub struct Server {
    child: Child,
    client: Client,
    base: String,
    dir: PathBuf,
    options: Options,
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
    pub retry_after: Option<String>,
}

const START_LIMIT: Duration = Duration::from_secs(20);

impl Server {
    /// With its data in `dir`, and ready.
    pub fn start(dir: &Path) -> Server {
        Server::start_with(dir, Options::default())
    }

    pub fn start_with(dir: &Path, options: Options) -> Server {
        let server = Server::launch(dir, options);
        server.wait_ready();
        server
    }

    /// Started, perhaps not ready yet.
    pub fn launch(dir: &Path, options: Options) -> Server {
        client_needs_a_provider();
        let port = free_port();
        let base = format!("http://127.0.0.1:{port}");
        let child = spawn(dir, &options, port);
        let client = Client::builder().timeout(Duration::from_secs(30)).no_proxy().build().expect("a client");
        Server { child, client, base, dir: dir.to_owned(), options }
    }

    pub fn wait_ready(&self) {
        eventually(START_LIMIT, "the server is ready", || {
            self.client.get(format!("{}/readyz", self.base)).send().is_ok_and(|answer| answer.status().is_success())
        });
    }

    /// The same data, a new process.
    #[must_use]
    pub fn restart(self) -> Server {
        let (dir, options) = (self.dir.clone(), self.options.clone());
        drop(self);
        Server::start_with(&dir, options)
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    pub fn witness(&self) -> Witness {
        Witness::at(&witness_path(&self.dir, &self.options))
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.join("server.log")).unwrap_or_default()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a pid")).expect("not zero");
        let _ = kill_process(pid, signal);
    }

    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub fn wait_exit(mut self, limit: Duration) -> ExitStatus {
        let end = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return status;
            }
            assert!(Instant::now() < end, "the server did not end within {limit:?}");
            crate::pause(Duration::from_millis(10));
        }
    }

    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    // ---- requests ----

    pub fn try_post(&self, path: &str, body: &Value) -> Option<Answer> {
        answer(self.client.post(self.url(path)).json(body).send())
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.try_post(path, body).unwrap_or_else(|| panic!("no answer to POST {path}\n{}", self.log()))
    }

    pub fn post_raw(&self, path: &str, content_type: &str, body: impl Into<Vec<u8>>) -> Answer {
        let request = self.client.post(self.url(path)).header("content-type", content_type).body(body.into());
        answer(request.send()).unwrap_or_else(|| panic!("no answer to POST {path}"))
    }

    pub fn put(&self, path: &str, body: &Value) -> Answer {
        answer(self.client.put(self.url(path)).json(body).send()).unwrap_or_else(|| panic!("no answer to PUT {path}"))
    }

    pub fn patch(&self, path: &str, body: &Value) -> Answer {
        answer(self.client.patch(self.url(path)).json(body).send())
            .unwrap_or_else(|| panic!("no answer to PATCH {path}"))
    }

    pub fn delete(&self, path: &str) -> Answer {
        answer(self.client.delete(self.url(path)).send()).unwrap_or_else(|| panic!("no answer to DELETE {path}"))
    }

    /// A connection that was kept may have ended meanwhile: then once more.
    pub fn get(&self, path: &str) -> Answer {
        let answered = self.try_get(path).or_else(|| self.try_get(path));
        answered.unwrap_or_else(|| panic!("no answer to GET {path}\n{}", self.log()))
    }

    pub fn try_get(&self, path: &str) -> Option<Answer> {
        answer(self.client.get(self.url(path)).send())
    }

    fn url(&self, path: &str) -> String {
        let prefix = if path.starts_with("/api") || path.ends_with('z') { "" } else { "/api/v1" };
        format!("{}{prefix}{path}", self.base)
    }

    // ---- what most tests do ----

    /// A task on a handler of the server.
    pub fn task(&self, code: &str, handler: &str, more: &Value) {
        let mut task = json!({"code": code, "name": code, "type": "async", "handler": handler});
        for (key, value) in more.as_object().into_iter().flatten() {
            task[key] = value.clone();
        }
        let created = self.post("/tasks", &task);
        assert!(created.status == 201 || created.body["code"] == "TASK_EXISTS", "{created:?}");
    }

    /// Submits and gives the id.
    pub fn submit(&self, job: &Value) -> String {
        let stored = self.post("/jobs", job);
        assert!(stored.status == 201 || stored.status == 200, "{stored:?}");
        stored.body["id"].as_str().expect("an id").to_owned()
    }

    pub fn job(&self, id: &str) -> Value {
        let found = self.get(&format!("/jobs/{id}"));
        assert_eq!(found.status, 200, "{found:?}");
        found.body
    }

    pub fn status_of(&self, id: &str) -> String {
        self.job(id)["status"].as_str().expect("a status").to_owned()
    }

    pub fn wait_for(&self, id: &str, status: &str, limit: Duration) {
        let what = format!("job {id} is {status}");
        eventually(limit, &what, || self.status_of(id) == status);
    }

    /// All jobs of a task, the oldest first.
    pub fn jobs_of(&self, task: &str) -> Vec<Value> {
        let (mut jobs, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.get(&format!("/jobs?task={task}&limit=200{cursor}"));
            assert_eq!(page.status, 200, "{page:?}");
            jobs.extend(page.body["items"].as_array().expect("a list").iter().cloned());
            match page.body["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        jobs.reverse();
        jobs
    }

    /// Every attempt of a job, the first one first.
    pub fn attempts(&self, id: &str) -> Vec<Value> {
        let found = self.get(&format!("/jobs/{id}/attempts?limit=200"));
        let mut items = found.body["items"].as_array().expect("a list").clone();
        items.sort_by_key(|attempt| attempt["fence"].as_i64());
        items
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The HTTP client wants a TLS provider even for plain HTTP. The second call finds the first one's.
pub fn client_needs_a_provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn witness_path(dir: &Path, options: &Options) -> PathBuf {
    options.witness.clone().unwrap_or_else(|| dir.join("witness.tsv"))
}

fn spawn(dir: &Path, options: &Options, port: u16) -> Child {
    let config = dir.join("mainspring.toml");
    let probes = match options.no_probes {
        true => String::new(),
        false => format!("[probes]\nenabled = true\nwitness = {:?}\n", witness_path(dir, options)),
    };
    std::fs::write(&config, format!("{}\n{probes}", options.config)).expect("the configuration can be written");
    let log = File::options().create(true).append(true).open(dir.join("server.log")).expect("a log file");
    let mut command = Command::new(binary());
    command.arg("serve").arg("--config").arg(&config).arg("--data-dir").arg(dir.join("data"));
    if let Some(url) = &options.database {
        command.arg("--database").arg(url);
    }
    command.arg("--listen").arg(format!("127.0.0.1:{port}"));
    if !options.not_dev {
        command.arg("--dev");
    }
    if let Some(clock) = &options.clock {
        clock.give_to(&mut command);
    }
    let (out, err) = (log.try_clone().expect("a second handle"), log);
    command.stdin(Stdio::null()).stdout(out).stderr(err).spawn().expect("the server can be started")
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

pub(crate) fn answer(sent: reqwest::Result<reqwest::blocking::Response>) -> Option<Answer> {
    let response = sent.ok()?;
    let status = response.status().as_u16();
    let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let text = response.text().ok()?;
    Some(Answer { status, body: serde_json::from_str(&text).unwrap_or(Value::String(text)), retry_after })
}
