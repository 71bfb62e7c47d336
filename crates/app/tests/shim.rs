//! Commands under their keeper, with real processes: what is left of a tree, and what is made of its end.

#![expect(clippy::disallowed_methods, reason = "real processes take real time")]

use std::sync::Mutex;
use std::time::{Duration, Instant};

use mainspring_engine::execute::process::{CommandHandler, CommandTemplate, End, JobFacts, ProgramEnd};
use mainspring_model::{HandlerName, Shard, Verdict};
use mainspring_store::Stream;

const MAINSPRING: &str = env!("CARGO_BIN_EXE_mainspring");
/// Tells the test binary to be an engine that is going to be killed.
const VICTIM: &str = "MAINSPRING_TEST_VICTIM";

fn template(program: &str, args: &[&str]) -> CommandTemplate {
    CommandTemplate::new(HandlerName::new("command.test").expect("a name"), program).args(args.iter().copied())
}

fn shell(script: &str) -> CommandTemplate {
    template("sh", &["-c", script])
}

fn facts(payload: &str) -> JobFacts {
    JobFacts {
        task: "report".to_owned(),
        job_id: "77".to_owned(),
        attempt: 2,
        fence: 5,
        biz_id: None,
        fire_time: Some("2026-12-01T08:00:00.000Z".to_owned()),
        shard: Some(Shard { index: 1, total: 3 }),
        payload: payload.to_owned(),
    }
}

struct Ran {
    end: ProgramEnd,
    said: String,
    took: Duration,
}

async fn run_with(template: CommandTemplate, payload: &str, stop: impl Future<Output = ()> + Send) -> Ran {
    let handler = CommandHandler::new(template).expect("a good template").with_shim(MAINSPRING);
    let said = Mutex::new(String::new());
    let start = Instant::now();
    let say = |_: Stream, text: &str| said.lock().expect("no panic").push_str(text);
    let end = handler.run(&facts(payload), stop, &say).await;
    Ran { end, took: start.elapsed(), said: said.into_inner().expect("no panic") }
}

async fn run(template: CommandTemplate, payload: &str) -> Ran {
    run_with(template, payload, std::future::pending()).await
}

/// A length of sleep that no other process has.
fn unique_sleep() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("3{:03}.{}", NEXT.fetch_add(1, Ordering::Relaxed), std::process::id())
}

fn sleepers(length: &str) -> usize {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let is_sleeper = |path: std::path::PathBuf| {
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        line == format!("sleep\0{length}\0").as_bytes()
    };
    entries.filter(|entry| is_sleeper(entry.path())).count()
}

fn wait_for_sleepers(length: &str, count: usize, limit: Duration) -> Duration {
    let start = Instant::now();
    while sleepers(length) != count {
        assert!(start.elapsed() < limit, "{} of {count} sleepers after {limit:?}", sleepers(length));
        std::thread::yield_now();
    }
    start.elapsed()
}

/// A background child, a child in a session of its own, and a grandchild that ignores the polite signal.
fn tree(length: &str) -> String {
    format!(
        "sleep {length} & setsid sleep {length} & (trap '' TERM; sh -c 'trap \"\" TERM; sleep {length}; true') & \
         trap '' TERM; sleep {length}; sleep {length}"
    )
}

#[tokio::test]
async fn a_cancelled_tree_is_gone_within_its_grace_and_a_second() {
    let length = unique_sleep();
    let mut template = shell(&tree(&length));
    template.kill_grace = Duration::from_millis(500);
    let stop = async {
        let length = length.clone();
        let all = tokio::task::spawn_blocking(move || wait_for_sleepers(&length, 4, Duration::from_secs(10)));
        all.await.expect("four sleepers");
    };
    let (stopped_at, stop) = noted(stop);
    let ran = run_with(template, "null", stop).await;
    let took = stopped_at.lock().expect("no panic").expect("it was stopped").elapsed();
    assert_eq!(sleepers(&length), 0);
    assert_eq!(ran.end.verdict(), Verdict::Cancelled);
    assert!(took < Duration::from_millis(1_500), "{took:?}");
    assert!(took >= Duration::from_millis(500), "the grace was not given: {took:?}");
}

/// The future, and when it ended.
fn noted(
    future: impl Future<Output = ()> + Send,
) -> (std::sync::Arc<Mutex<Option<Instant>>>, impl Future<Output = ()> + Send) {
    let at = std::sync::Arc::new(Mutex::new(None));
    let note = at.clone();
    (at, async move {
        future.await;
        *note.lock().expect("no panic") = Some(Instant::now());
    })
}

#[tokio::test]
async fn a_tree_that_hears_the_polite_signal_does_not_wait_for_its_grace() {
    let mut template = shell("trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.05; done");
    template.kill_grace = Duration::from_secs(30);
    let ran = run_with(template, "null", tokio::time::sleep(Duration::from_millis(400))).await;
    assert_eq!((ran.end.verdict(), ran.end.end), (Verdict::Cancelled, End::Exited(3)));
    assert!(ran.said.contains("bye"));
    assert!(ran.took < Duration::from_secs(5), "{:?}", ran.took);
}

#[tokio::test]
async fn a_dropped_attempt_takes_its_tree_along() {
    let length = unique_sleep();
    let ran = tokio::time::timeout(Duration::from_millis(1_500), run(shell(&tree(&length)), "null")).await;
    assert!(ran.is_err(), "the program cannot have ended by itself");
    wait_for_sleepers(&length, 0, Duration::from_secs(2));
}

#[tokio::test]
async fn left_overs_go_when_the_program_ends_and_an_open_pipe_holds_nothing() {
    let length = unique_sleep();
    let script = format!("sleep {length} & setsid sleep {length} & echo done");
    let ran = run(shell(&script), "null").await;
    assert_eq!(ran.end.verdict(), Verdict::done_with("done"));
    assert_eq!(sleepers(&length), 0);
    assert!(ran.took < Duration::from_secs(3), "{:?}", ran.took);
}

#[tokio::test]
async fn an_engine_killed_with_signal_9_leaves_nothing_within_two_seconds() {
    let length = unique_sleep();
    let mut victim = std::process::Command::new(std::env::current_exe().expect("own path"))
        .args(["--exact", "the_engine_that_is_killed"])
        .env(VICTIM, &length)
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("starts");
    wait_for_sleepers(&length, 4, Duration::from_secs(10));
    victim.kill().expect("signal 9");
    victim.wait().expect("ends");
    let took = wait_for_sleepers(&length, 0, Duration::from_secs(2));
    assert!(took < Duration::from_secs(2), "{took:?}");
}

/// Nothing by itself: the body of the test above, in a process of its own.
#[tokio::test]
async fn the_engine_that_is_killed() {
    if let Ok(length) = std::env::var(VICTIM) {
        run(shell(&tree(&length)), "null").await;
    }
}

#[tokio::test]
async fn a_keeper_that_is_killed_takes_the_programs_group_along() {
    let length = unique_sleep();
    let killing = async {
        let length = length.clone();
        let killed = tokio::task::spawn_blocking(move || {
            wait_for_sleepers(&length, 2, Duration::from_secs(10));
            kill_parents_of(&format!("sleep {length} & sleep {length}; true"));
        });
        killed.await.expect("it was killed");
        std::future::pending::<()>().await;
    };
    let ran = run_with(shell(&format!("sleep {length} & sleep {length}; true")), "null", killing).await;
    assert_eq!(ran.end.verdict(), Verdict::retry("the keeper of the program was killed"));
    wait_for_sleepers(&length, 0, Duration::from_secs(2));
}

/// Signal 9 for the parent of the shell that runs this script.
fn kill_parents_of(script: &str) {
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let read = |name: &str| std::fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        if read("cmdline") == format!("sh\0-c\0{script}\0") {
            let status = read("status");
            let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).expect("a parent").trim();
            let parent = rustix::process::Pid::from_raw(parent.parse().expect("a number")).expect("a process");
            rustix::process::kill_process(parent, rustix::process::Signal::KILL).expect("killed");
        }
    }
}

#[tokio::test]
async fn a_flood_is_read_and_thrown_away() {
    let ran = run(shell("head -c 200000000 /dev/zero; echo; echo the end"), "null").await;
    assert!(matches!(ran.end.verdict(), Verdict::Done { result: Some(result) } if result.ends_with("the end")));
    assert!(ran.said.len() < 4_000_000, "{} bytes were kept", ran.said.len());
    assert!(ran.said.contains("bytes are left out here"));
    assert!(ran.took < Duration::from_secs(20), "{:?}", ran.took);
}

#[tokio::test]
async fn ends_become_verdicts() {
    let check = async |script: &str, expect: Verdict| {
        assert_eq!(run(shell(script), "null").await.end.verdict(), expect, "{script}");
    };
    check("exit 0", Verdict::done()).await;
    check("echo one; echo two", Verdict::done_with("one\ntwo")).await;
    check("echo oh no >&2; exit 1", Verdict::retry("exit code 1: oh no")).await;
    check("exit 75", Verdict::retry("exit code 75")).await;
    check("echo bad row >&2; exit 65", Verdict::fail("exit code 65: bad row")).await;
    check("exit 78", Verdict::fail("exit code 78")).await;
    check("kill -9 $$", Verdict::retry("killed by SIGKILL (9)")).await;
    check("kill -13 $$", Verdict::retry("killed by SIGPIPE (13)")).await;
}

#[tokio::test]
async fn a_program_that_is_not_there_fails_for_good() {
    let check = async |template: CommandTemplate, expect: &str| match run(template, "null").await.end.verdict() {
        Verdict::Fail { error } => assert!(error.contains(expect), "{error}"),
        other => panic!("{other:?}"),
    };
    check(template("no-such-program", &[]), "`no-such-program` cannot be started").await;
    check(template("/etc/passwd", &[]), "cannot be started").await;
    let mut lost = template("true", &[]);
    lost.cwd = Some("/no/such/directory".into());
    check(lost, "working directory /no/such/directory does not exist").await;
    check(template("echo", &["{payload.name}"]), "no field `name`").await;
}

#[tokio::test]
async fn the_payload_comes_on_standard_input_whole() {
    let payload = format!("{{\"text\": \"{}\"}}", "任".repeat(300_000));
    let ran = run(template("wc", &["-c"]), &payload).await;
    assert_eq!(ran.end.verdict(), Verdict::done_with(payload.len().to_string()));
    // One that nobody reads stops nobody.
    assert_eq!(run(template("true", &[]), &payload).await.end.verdict(), Verdict::done());
}

#[tokio::test]
async fn wrong_bytes_become_text() {
    let ran = run(shell(r"printf 'a\377b\000c \344\273\273'"), "null").await;
    assert_eq!(ran.said, "a\u{FFFD}b␀c 任");
}

#[tokio::test]
async fn values_never_reach_a_shell() {
    let evil = r#"{"to": "; touch /tmp/owned $(id) `id` && echo \"x\"\n-o"}"#;
    let ran = run(template("printf", &["[%s]", "to={payload.to}", "{jobId}"]), evil).await;
    assert_eq!(ran.said, "[to=; touch /tmp/owned $(id) `id` && echo \"x\"\n-o][77]");
    // As the argument of a shell it is data too.
    let ran = run(template("sh", &["-c", "printf '[%s]' \"$1\"", "sh", "to={payload.to}"]), evil).await;
    assert_eq!(ran.said, "[to=; touch /tmp/owned $(id) `id` && echo \"x\"\n-o]");
}

#[tokio::test]
async fn the_environment_is_what_the_template_says() {
    let ran = run(template("env", &[]), "null").await;
    let mut names: Vec<&str> = ran.said.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.retain(|name| *name != "LANG");
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "MAINSPRING_ATTEMPT",
            "MAINSPRING_FENCE",
            "MAINSPRING_FIRE_TIME",
            "MAINSPRING_JOB_ID",
            "MAINSPRING_SHARD_INDEX",
            "MAINSPRING_SHARD_TOTAL",
            "MAINSPRING_TASK",
            "PATH"
        ]
    );
    let mut allowed = template("env", &[]);
    allowed.env = vec!["CARGO_MANIFEST_DIR".to_owned(), "NOT_SET_ANYWHERE".to_owned()];
    let ran = run(allowed, "null").await;
    assert!(ran.said.contains("CARGO_MANIFEST_DIR=") && !ran.said.contains("NOT_SET_ANYWHERE"));
}

#[tokio::test]
async fn a_program_inherits_no_descriptor_of_the_engine() {
    // What this process was itself started with goes on to its children; what it opened does not.
    let _open = std::fs::File::open("/proc/self/stat").expect("opens");
    let inheritable = |fd: &str| {
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap_or_default().trim().to_owned();
        i64::from_str_radix(&flags, 8).is_ok_and(|flags| flags & 0o2_000_000 == 0)
    };
    let ran = run(shell("ls /proc/$$/fd"), "null").await;
    let surplus: Vec<&str> = ran.said.split_whitespace().filter(|fd| !inheritable(fd)).collect();
    assert_eq!(surplus, Vec::<&str>::new());
}

#[tokio::test]
async fn the_memory_limit_holds_for_the_whole_tree() {
    // The limit that cannot be raised again is set from outside, an instant after the start.
    let mut limited = shell("sh -c 'ulimit -v'; while [ $(ulimit -Hv) = unlimited ]; do :; done; ulimit -Hv");
    limited.memory_bytes_max = Some(256 * 1024 * 1024);
    let ran = run(limited, "null").await;
    assert_eq!(ran.end.verdict(), Verdict::done_with("262144\n262144"), "{}", ran.said);
}
