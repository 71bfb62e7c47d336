//! The layers, the complaints, and the manual.

use toml::Value;

use super::layers::{DEFAULTS, TABLE_LISTS, TaskFile};
use super::*;

fn layers(file: &str, environment: &[(&str, &str)]) -> Layers {
    Layers::of(Sources {
        file: Some(("mainspring.toml".to_owned(), file.to_owned())),
        environment: environment.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect(),
        flags: Vec::new(),
    })
}

fn complaints(file: &str, environment: &[(&str, &str)]) -> Vec<String> {
    Config::of(&layers(file, environment)).expect_err("must be refused")
}

#[test]
fn the_defaults_are_a_configuration() {
    let config = Config::of(&Layers::of(Sources::default())).expect("good defaults");
    assert_eq!(config.listen, "127.0.0.1:8700".parse().expect("an address"));
    assert_eq!(config.database_url, "sqlite://mainspring-data/mainspring.db");
    assert!(config.commands.is_empty() && config.probes.is_none());
    assert_eq!(config.http_allow, Some(Vec::new()));
}

#[test]
fn later_layers_win_and_say_so() {
    let flags = vec![("--listen", "server.listen", Value::from("127.0.0.1:3"))];
    let file = "server.listen = '127.0.0.1:1'\nlog.level = 'warn'\nlog.format = 'json'\n";
    let layers = Layers::of(Sources {
        file: Some(("a.toml".to_owned(), file.to_owned())),
        environment: vec![
            ("MAINSPRING_SERVER__LISTEN".to_owned(), "127.0.0.1:2".to_owned()),
            ("MAINSPRING_LOG__LEVEL".to_owned(), "debug".to_owned()),
            ("MAINSPRING_SHUTDOWN__DRAIN_SECONDS".to_owned(), "5".to_owned()),
            ("MAINSPRING_HTTP__ALLOW".to_owned(), "127.0.0.1, 10.0.0.0/8".to_owned()),
            ("MAINSPRING_PROBES__ENABLED".to_owned(), "true".to_owned()),
            ("MAINSPRING_SERVER_URL".to_owned(), "http://not-a-key".to_owned()),
            ("MAINSPRING_PORT_8700_TCP".to_owned(), "tcp://10.0.0.1:8700".to_owned()),
            ("PATH".to_owned(), "/bin".to_owned()),
        ],
        flags,
    });
    let origin = |key: &str| layers.values[key].origin.to_string();
    assert_eq!(origin("server.listen"), "--listen");
    assert_eq!(origin("log.level"), "environment MAINSPRING_LOG__LEVEL");
    assert_eq!(origin("log.format"), "a.toml");
    assert_eq!(origin("data.dir"), "default");
    let config = Config::of(&layers).expect("good");
    assert_eq!(config.listen.port(), 3);
    assert_eq!((config.log.level.as_str(), config.log.format), ("debug", LogFormat::Json));
    assert_eq!(config.drain_limit, Duration::from_secs(5));
    assert_eq!(config.http_allow.map(|allow| allow.len()), Some(2));
    assert!(config.probes.is_some());
}

#[test]
fn all_complaints_come_at_once_with_their_place() {
    let file = r#"
        server.listne = "127.0.0.1:1"
        log = { format = "xml", level = 3 }
        shutdown.drain_seconds = -1
        http.allow = ["10.0.0.0/99", "10.0.0.1"]
        [[commands]]
        program = "true"
        args = ["{nope}"]
        [[commands]]
        name = "x"
        program = "true"
        args = ["{nope}"]
        memory_mb = 3
        progam = "true"
        [[tasks]]
        code = "a b"
        handler = "probe.ok"
        [[tasks]]
        code = "nightly"
        handler = "probe.ok"
        type = "cron"
        param = "{"
        [[tasks]]
        code = "daily"
        handler = "probe.ok"
        type = "cron"
        cron_expression = "0 25 * * *"
        [[pools]]
        name = "p"
        rate_limit = "often"
        concurrency = 0
        when_full = "explode"
    "#;
    let environment = [
        ("MAINSPRING_PROBES__ENABLED", "maybe"),
        ("MAINSPRING_DATA__DRI", "x"),
        ("MAINSPRING_LOG_LEVEL", "debug"),
        ("MAINSPRING_POOLS", "[]"),
    ];
    let said = complaints(file, &environment).join("\n");
    for expect in [
        "mainspring.toml: there is no key `server.listne`; did you mean `server.listen`?",
        "mainspring.toml: log.format: `xml` is not one of text, json",
        "mainspring.toml: log.level: expects text, not 3",
        "mainspring.toml: shutdown.drain_seconds: expects a whole number from 0 to 86400, not -1",
        "mainspring.toml: http.allow: `10.0.0.0/99` has a wrong prefix",
        "mainspring.toml: commands[0].name: is missing",
        "mainspring.toml: commands[1]: `{nope}` is not one of {payload}",
        "mainspring.toml: commands[1]: a program with 3145728 bytes cannot start",
        "mainspring.toml: commands[1]: there is no key `progam`; did you mean `program`?",
        "mainspring.toml: tasks[0].code: task holds ' '",
        "mainspring.toml: tasks[1]: a cron task needs cronExpression or every",
        "mainspring.toml: tasks[2]: 25 is out of range: the hour is 0 to 23 at column 3",
        "mainspring.toml: pools[0].rate_limit: `often` is not a rate",
        "mainspring.toml: tasks[1]: the payload is not JSON",
        "mainspring.toml: pools[0].concurrency: expects a whole number from 1",
        "mainspring.toml: pools[0]: when_full: `explode` is not one of spill",
        "environment MAINSPRING_PROBES__ENABLED: probes.enabled: expects true or false, not `maybe`",
        "environment MAINSPRING_DATA__DRI: there is no key `data.dri`; did you mean MAINSPRING_DATA__DIR?",
        "environment MAINSPRING_LOG_LEVEL: there is no key `log_level`; did you mean MAINSPRING_LOG__LEVEL?",
        "environment MAINSPRING_POOLS: `pools` is a list of tables, which only a file can hold",
    ] {
        assert!(said.contains(expect), "no `{expect}` in\n{said}");
    }
}

#[test]
fn a_node_says_what_it_is_and_how_long_it_is_believed() {
    let config = Config::of(&Layers::of(Sources::default())).expect("good defaults");
    assert_eq!((config.node.labels.len(), config.node.lease), (0, Duration::from_secs(15)));
    let environment = [("MAINSPRING_NODE__LABELS", "gpu, zone=eu"), ("MAINSPRING_NODE__LEASE", "1m")];
    let config = Config::of(&layers("node.lease = '20s'", &environment)).expect("good");
    assert_eq!(
        (config.node.labels, config.node.lease),
        (vec!["gpu".to_owned(), "zone=eu".to_owned()], Duration::from_secs(60))
    );
    let check = |file: &str, expect: &str| {
        let said = complaints(file, &[]).join("\n");
        assert!(said.contains(expect), "{file}: {said}");
    };
    check("node.lease = '4s'", "mainspring.toml: node.lease: is 4s, allowed are 5s to 10m");
    check("node.lease = '11m'", "is 11m, allowed are");
    check("node.lease = 15", "node.lease: expects text, not 15");
    check("node.labels = ['a b']", "node.labels: label `a b` holds ' '");
    check("node.labels = 'gpu'", "node.labels: expects a list of texts");
    check(
        "[[pools]]\nname = 'p'\ncluster_concurrency = 0",
        "pools[0].cluster_concurrency: expects a whole number from 1",
    );
    let broadcast = "[[tasks]]\ncode = 'a'\nhandler = 'probe.ok'\nbroadcast = true\nmax_running = 2";
    check(broadcast, "tasks[0]: maxRunning cannot be used with broadcast");
}

#[test]
fn no_complaint_shows_the_password_of_the_database() {
    for file in [
        "database.url = 'postgres://me:hunter2@db/jobs",
        "database.url = postgres://me:hunter2@db/jobs",
        "database = { url = \"mysql://me:hunter2@db/jobs\" x",
        "database.url = ['postgres://me:hunter2@db/jobs']",
        "database.urls = 'postgres://me:hunter2@db/jobs'",
        "[[database]]\nurl = 'postgres://me:hunter2@db/jobs'",
    ] {
        let said = complaints(file, &[("MAINSPRING_DATABASE_URL", "postgres://me:hunter2@db/jobs")]).join("\n");
        assert!(!said.contains("hunter2"), "{file}: {said}");
    }
}

#[test]
fn a_declared_task_that_says_when_is_of_type_cron() {
    let check = |fields: &str, expect: &str| {
        let file = format!("[[tasks]]\ncode = 'a'\nhandler = 'probe.ok'\n{fields}\n");
        let config = Config::of(&layers(&file, &[])).expect(fields);
        let task = &config.tasks[0].definition;
        assert_eq!(format!("{} {}", task.kind, task.overlap), expect, "{fields}");
    };
    check("", "async ALLOW");
    check("every = '10s'", "cron FORBID");
    check("cron_expression = '@daily'", "cron FORBID");
    check("type = 'manual'", "manual ALLOW");
}

#[test]
fn tasks_in_files_are_read_or_complained_of_by_file_and_task() {
    let mut layers = layers("[tasks]\nfiles = ['tasks.toml', 'more.json']", &[]);
    let file = |name: &str, text: &str| TaskFile { name: name.to_owned(), text: text.to_owned() };
    let good = "[[task]]\ncode = 'a'\nhandler = 'probe.ok'\ntype = 'cron'\nevery = '10s'\nparam = { x = 1 }\n";
    layers.task_files = vec![file("tasks.toml", good), file("more.json", "[]")];
    let config = Config::of(&layers).expect("good");
    assert_eq!((config.tasks.len(), config.tasks[0].place.as_str()), (1, "tasks.toml"));
    assert_eq!(config.tasks[0].definition.param.as_deref(), Some(r#"{"x":1}"#));

    let wrong = "[[task]]\ncode = 'b'\nhandler = 'probe.ok'\nevry = '10s'\n[[task]]\nhandler = 'x'\n\
                 [[task]]\ncode = 'c'\nhandler = 'probe.ok'\nenabled = false\n\
                 [[task]]\ncode = 'd'\nhandler = 'probe.ok'\ntype = 'cron'\ncronExpression = '0 0 * * XYZ'\n";
    layers.task_files = vec![file("tasks.toml", wrong), file("more.json", "{")];
    let said = Config::of(&layers).expect_err("must be refused").join("\n");
    for expect in [
        "tasks.toml: task `b`: evry: `evry` is not known; did you mean `every`?",
        "tasks.toml: task[1]: code: code is missing",
        "tasks.toml: task `c`: a task that is declared at the start begins enabled",
        "`XYZ` is not a name of the day of week at column 9; the names are SUN to SAT, three letters each",
        "more.json: it is not a list of tasks in JSON",
    ] {
        assert!(said.contains(expect), "no `{expect}` in\n{said}");
    }
}

#[test]
fn only_loopback_is_listened_to() {
    for good in ["127.0.0.1:1", "[::1]:1", "127.9.9.9:0", "localhost:8700", "[::ffff:127.0.0.1]:1"] {
        let layers = layers(&format!("server.listen = '{good}'"), &[]);
        assert!(Config::of(&layers).is_ok(), "{good}");
    }
    for bad in ["0.0.0.0:8700", "[::]:8700", "192.168.0.1:1", "[::ffff:10.0.0.1]:1"] {
        let said = complaints(&format!("server.listen = '{bad}'"), &[]).join("\n");
        assert!(said.contains("there are no accounts yet"), "{bad}: {said}");
    }
    for bad in ["", "8700", ":8700", "127.0.0.1", "example.com:80", "127.0.0.1:99999"] {
        let said = complaints(&format!("server.listen = '{bad}'"), &[]).join("\n");
        assert!(said.contains("is not an address and a port"), "{bad}: {said}");
    }
}

#[test]
fn a_file_that_is_no_toml_is_shown_with_its_line() {
    let said = complaints("[server\nlisten = 1", &[]).join("\n");
    assert!(said.starts_with("mainspring.toml: ") && said.contains("line 1"), "{said}");
}

/// The lines of the manual that are examples: `# [[table]]` and `# key = value` below it.
fn manual_with_examples() -> String {
    let (mut text, mut in_example) = (String::new(), false);
    for line in DEFAULTS.lines() {
        let bare = line.strip_prefix("# ").unwrap_or(line);
        in_example = bare.starts_with("[[") || (in_example && line.starts_with('#'));
        let is_entry =
            in_example && (bare.starts_with("[[") || bare.split_once(" = ").is_some_and(|(key, _)| is_key(key)));
        text.push_str(if is_entry { bare } else { line });
        text.push('\n');
    }
    text
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

#[test]
fn each_documented_key_exists_with_a_good_example() {
    let layers = layers(&manual_with_examples(), &[]);
    let config = Config::of(&layers).expect("the examples are good");
    assert_eq!((config.commands.len(), config.tasks.len(), config.pools.len()), (1, 2, 1));
}

#[test]
fn each_key_is_documented() {
    let layers = layers(&manual_with_examples(), &[]);
    for name in TABLE_LISTS {
        let entries = layers.values[name].value.as_array().expect("a list").clone();
        let documented = entries.iter().flat_map(|entry| entry.as_table().expect("a table").keys().cloned());
        let documented: Vec<String> = documented.collect();
        // An unknown key makes the reader say which it has.
        let file = format!("[[{name}]]\nqqqqq = 1");
        let said = complaints(&file, &[]).join("\n");
        let known = said.split("it has ").nth(1).expect("the list of keys").lines().next().unwrap_or_default();
        for key in known.split(", ") {
            assert!(documented.contains(&key.to_owned()), "{name}.{key} is not in the manual");
        }
    }
    // A key of the first level has its default and a comment in the manual.
    let mut before = "";
    for line in DEFAULTS.lines().filter(|line| !line.starts_with('[')) {
        if line.split_once(" = ").is_some_and(|(key, _)| is_key(key)) {
            assert!(before.starts_with("# "), "{line} has no comment");
        }
        before = line;
    }
}
