//! Jobs that an application stores in its own transaction: there with its commit, never there without, and the same jobs as
//! those that come through the library.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mainspring_model::job::OnLive;
use mainspring_model::rate::RateLimit;
use mainspring_model::schedule::NextFire;
use mainspring_model::task::{Overlap, TaskDefinition, TaskSwitch};
use mainspring_model::{Code, Job, JobId, Priority, Span, Timestamp, Unique};
use mainspring_test_servers::{Kind, shared};
use sqlx::{AssertSqlSafe, Connection as _};

use super::{on_each, open, session};
use crate::server::statement::Statement;
use crate::suite::scheduled::{at_most, cron, entry, of_task, stored_end};
use crate::suite::world::{T0, TASK, at, definition, done, settlement, task};
use crate::suite::{Subject, World};
use crate::{
    Fire, Fired, ServerStore, Settled, Store as _, SubmitIn, SubmitInError, SubmittedIn, TaskChange, submit_in,
};

/// All that is submitted without a time is due.
const LATER: Timestamp = Timestamp::from_ms(4_000_000_000_000);

/// The application's connection.
enum Application {
    Postgres(sqlx::PgConnection),
    MySql(sqlx::MySqlConnection),
}

impl Application {
    async fn connect(url: &str) -> Application {
        match url.starts_with("postgres") {
            true => Application::Postgres(sqlx::PgConnection::connect(url).await.expect("connects")),
            false => {
                let url = url.replace("mariadb://", "mysql://");
                Application::MySql(sqlx::MySqlConnection::connect(&url).await.expect("connects"))
            }
        }
    }

    async fn run(&mut self, text: &str) {
        let done = match self {
            Application::Postgres(connection) => sqlx::raw_sql(AssertSqlSafe(text)).execute(connection).await.map(drop),
            Application::MySql(connection) => sqlx::raw_sql(AssertSqlSafe(text)).execute(connection).await.map(drop),
        };
        done.expect("runs");
    }

    async fn submit(&mut self, job: &SubmitIn) -> Result<SubmittedIn, SubmitInError> {
        match self {
            Application::Postgres(connection) => submit_in(connection, job).await,
            Application::MySql(connection) => submit_in(connection, job).await,
        }
    }

    /// In a transaction of its own.
    async fn submit_now(&mut self, job: &SubmitIn) -> SubmittedIn {
        self.run("BEGIN").await;
        let submitted = self.submit(job).await.expect("is stored");
        self.run("COMMIT").await;
        submitted
    }

    async fn refusal(&mut self, job: &SubmitIn) -> (Code, String) {
        self.run("BEGIN").await;
        let refused = self.submit(job).await.expect_err("is refused");
        self.run("ROLLBACK").await;
        let SubmitInError::Refused(refused) = refused else { panic!("{refused}") };
        (refused.code, refused.detail)
    }
}

fn wanted(code: &str) -> SubmitIn {
    SubmitIn {
        task: task(code),
        payload: Some(r#"{"order": 42}"#.into()),
        biz_id: None,
        unique: Unique::Always,
        at: None,
        delay: None,
        priority: None,
        max_retry: None,
        timeout: None,
    }
}

/// A job of `TASK` that is none other than with this payload.
fn with_payload(payload: &str) -> SubmitIn {
    SubmitIn { payload: Some(payload.into()), ..wanted(TASK) }
}

async fn with_application(test: impl AsyncFn(&World, &Arc<ServerStore>, &mut Application)) {
    on_each(async |url| {
        let store = open(url).await;
        let world = World::new(&Subject { store: Arc::clone(&store) as _, keep: None }).await;
        test(&world, &store, &mut Application::connect(url).await).await;
        assert_eq!(world.store().verify().await.expect("verify answers"), []);
    })
    .await;
}

async fn job(world: &World, id: JobId) -> Job {
    world.store().job(id).await.expect("reads").expect("it is there")
}

#[tokio::test]
async fn a_job_is_there_with_the_commit_and_never_was_without() {
    with_application(async |world, _, application| {
        application.run("CREATE TABLE orders (id BIGINT PRIMARY KEY)").await;
        application.run("BEGIN; INSERT INTO orders VALUES (1)").await;
        let given_up = application.submit(&wanted(TASK)).await.expect("is stored");
        assert_eq!(world.store().job(given_up.id).await.expect("reads"), None, "others see nothing yet");
        application.run("ROLLBACK").await;
        assert_eq!(world.store().job(given_up.id).await.expect("reads"), None);
        let kept = application.submit_now(&wanted(TASK)).await;
        assert!(!kept.duplicate && kept.id != given_up.id);
        let claims = world.claim(10, LATER).await.jobs;
        assert_eq!(claims.iter().map(|claim| claim.id).collect::<Vec<_>>(), [kept.id]);
        assert_eq!(claims[0].payload.as_deref(), Some(r#"{"order": 42}"#));
        world.settle(settlement(&claims[0], done(None))).await;
    })
    .await;
}

#[tokio::test]
async fn it_is_the_job_that_the_task_and_the_caller_describe() {
    with_application(async |world, _, application| {
        let of_task = job(world, application.submit_now(&wanted(TASK)).await.id).await;
        let TaskDefinition { pool, priority, retry, .. } = definition();
        assert_eq!((&of_task.pool, of_task.priority, of_task.max_retry), (&pool, priority, retry.count));
        assert_eq!((of_task.timeout_ms, of_task.attempts, of_task.fence.0), (None, 0, 0));
        assert_eq!(of_task.execute_time, of_task.create_time);
        let said = SubmitIn {
            biz_id: Some("order-42".to_owned()),
            unique: Unique::Live,
            at: Some(Timestamp::from_ms(4_102_444_800_123)),
            priority: Some(Priority::Critical),
            max_retry: Some(7),
            timeout: Some(Span::from_ms(1_500)),
            ..wanted(TASK)
        };
        let said = job(world, application.submit_now(&said).await.id).await;
        assert_eq!((said.priority, said.max_retry, said.timeout_ms), (Priority::Critical, 7, Some(2_000)));
        assert_eq!(
            (said.execute_time.as_ms(), said.biz_id.as_ref().expect("a key").as_str()),
            (4_102_444_800_123, "order-42")
        );
        let delayed = SubmitIn { delay: Some(Span::from_ms(90_001)), ..wanted(TASK) };
        let delayed = job(world, application.submit_now(&delayed).await.id).await;
        assert_eq!(delayed.execute_time.as_ms() - delayed.create_time.as_ms(), 90_001);
        let text = format!(r#"{{"text": "{}"}}"#, "ü".repeat(20_000));
        let large = job(world, application.submit_now(&with_payload(&text)).await.id).await;
        assert_eq!(large.payload.as_deref(), Some(&*text));
    })
    .await;
}

#[tokio::test]
async fn a_key_is_one_jobs_and_a_live_one_is_free_after_the_end() {
    with_application(async |world, _, application| {
        let always = SubmitIn { biz_id: Some("a".to_owned()), ..wanted(TASK) };
        let live = SubmitIn { biz_id: Some("l".to_owned()), unique: Unique::Live, ..wanted(TASK) };
        let first = [application.submit_now(&always).await, application.submit_now(&live).await];
        for (wanted, first) in [&always, &live].into_iter().zip(first) {
            let again = application.submit_now(wanted).await;
            assert_eq!(again, SubmittedIn { id: first.id, duplicate: true });
            assert_eq!(job(world, first.id).await.duplicates, 1);
        }
        for claim in world.claim(10, LATER).await.jobs {
            world.settle(settlement(&claim, done(None))).await;
        }
        assert!(application.submit_now(&always).await.duplicate, "once for ever");
        assert!(!application.submit_now(&live).await.duplicate, "its job has ended");
    })
    .await;
}

#[tokio::test]
async fn a_key_that_is_given_back_during_the_call_is_its_jobs() {
    on_each(async |url| {
        let store = open(url).await;
        let world = World::new(&Subject { store: Arc::clone(&store) as _, keep: None }).await;
        let (mut application, mut beside) = (Application::connect(url).await, session(url).await);
        let live = SubmitIn { biz_id: Some("l".to_owned()), unique: Unique::Live, ..wanted(TASK) };
        let first = application.submit_now(&live).await.id;
        // As a settlement: it ends the job, and gives its key back.
        beside.command("BEGIN; SELECT job_id FROM job_key WHERE biz_id = 'l' FOR UPDATE").await.expect("locks");
        let give_back = async {
            until_somebody_waits(url, "INSERT IGNORE INTO job_key").await;
            let end = format!("DELETE FROM job_queue WHERE job_id = {first}; DELETE FROM job_key WHERE biz_id = 'l'");
            let end = format!("{end}; UPDATE async_task SET task_status = 2 WHERE id = {first}; COMMIT");
            beside.command(&end).await.expect("gives it back");
        };
        let (second, ()) = tokio::join!(application.submit_now(&live), give_back);
        assert!(!second.duplicate && second.id != first);
        let third = application.submit_now(&live).await;
        assert_eq!(third, SubmittedIn { id: second.id, duplicate: true });
        assert!(job(&world, second.id).await.queue.is_some());
    })
    .await;
}

#[tokio::test]
async fn fires_and_results_of_its_task_wait_for_no_application() {
    with_application(async |world, store, application| {
        let at_most_9 = TaskDefinition { max_running: Some(9), ..cron(Overlap::Allow) };
        world.create_firing("report", at_most_9, Some(T0)).await;
        world.stored(vec![of_task(1, "report")]).await;
        let claim = world.claim(1, T0).await.jobs.remove(0);
        application.run("BEGIN").await;
        let submitted = application.submit(&wanted("report")).await.expect("is stored").id;
        let entries = vec![entry(2, "report", 0, OnLive::Join)];
        let fire = Fire { task: task("report"), version: 1, due: T0, next: NextFire::At(at(1_000)), entries };
        assert_eq!(world.fire_all(vec![fire], T0).await, [Fired::Done(vec![stored_end()])]);
        assert_eq!(world.settle(settlement(&claim, done(None))).await, Settled::Applied);
        assert_eq!(store.repeated.load(Ordering::Relaxed), 0, "nobody has waited");
        application.run("COMMIT").await;
        assert!(job(world, submitted).await.queue.is_some());
    })
    .await;
}

/// A zone whose hour from 1,000,000,000 on is there twice. For that it is written into the server's own tables.
const ZONE: &str = "
    INSERT IGNORE INTO mysql.time_zone (Time_zone_id, Use_leap_seconds) VALUES (77777, 'N');
    INSERT IGNORE INTO mysql.time_zone_name VALUES ('Mainspring/Twice', 77777);
    INSERT IGNORE INTO mysql.time_zone_transition_type VALUES (77777, 0, 7200, 1, 'A'), (77777, 1, 3600, 0, 'B');
    INSERT IGNORE INTO mysql.time_zone_transition VALUES (77777, 1, 0), (77777, 1000000000, 1)";

#[tokio::test]
async fn the_hour_that_a_time_zone_has_twice_is_two_hours() {
    let url = shared(Kind::MariaDb).expect("a database");
    let world = World::new(&Subject { store: open(&url).await, keep: None }).await;
    let mut application = Application::connect(&url).await;
    let admin = url.replace("mainspring:mainspring@", "admin:mainspring@");
    Application::connect(&admin).await.run(ZONE).await;
    application.run("SET time_zone = 'Mainspring/Twice'").await;
    for second in [999_998_000, 1_000_001_600] {
        application.run(&format!("SET timestamp = {second}")).await;
        let submitted = application.submit_now(&wanted(TASK)).await;
        assert_eq!(job(&world, submitted.id).await.create_time.as_ms(), second * 1_000);
    }
}

#[tokio::test]
async fn its_task_stays_and_gets_no_first_limit_before_the_commit() {
    on_each(async |url| {
        let (store, mut application) = (open(url).await, Application::connect(url).await);
        let world = World::new(&Subject { store: Arc::clone(&store) as _, keep: None }).await;
        world.create("first", definition()).await;
        application.run("BEGIN").await;
        application.submit(&wanted(TASK)).await.expect("is stored");
        application.submit(&wanted("first")).await.expect("is stored");
        let delete = || store.delete_task(task(TASK), None, "ann".to_owned(), at(1));
        delete().await.expect_err("it is held");
        // Its jobs are in lanes from now on, and so is the one that was on its way.
        let commit = async {
            until_somebody_waits(url, "SELECT t.task_code").await;
            application.run("COMMIT").await;
        };
        tokio::join!(world.edit("first", at_most(1)), commit);
        assert!(matches!(delete().await.expect("answers"), TaskChange::InTheWay(_)));
        application.submit_now(&wanted("first")).await;
        let claims = world.claim(10, LATER).await.jobs;
        assert_eq!(claims.iter().filter(|claim| claim.task == task("first")).count(), 1);
        for claim in claims.iter().filter(|claim| claim.task == task(TASK)) {
            world.settle(settlement(claim, done(None))).await;
        }
        assert!(matches!(delete().await.expect("answers"), TaskChange::Written(_)));
        assert_eq!(application.refusal(&wanted(TASK)).await.0, Code::TaskNotFound);
        assert_eq!(world.store().verify().await.expect("verify answers"), []);
    })
    .await;
}

/// For a lock; on MySQL by a statement that begins so.
async fn until_somebody_waits(url: &str, statement: &str) {
    let waiting = match url.starts_with("postgres") {
        true => {
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'".to_owned()
        }
        false => {
            format!("SELECT 1 FROM information_schema.processlist WHERE db = database() AND info LIKE '{statement}%'")
        }
    };
    let waiting: &'static str = waiting.leak();
    let statement: &'static _ = Box::leak(Box::new(Statement::new("trial", waiting, waiting)));
    let mut beside = session(url).await;
    while !beside.exists(statement, &[]).await.expect("reads") {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn bad_input_is_refused_with_its_code_and_stores_nothing() {
    with_application(async |world, store, application| {
        world.create("off", definition()).await;
        store.switch_task(task("off"), TaskSwitch::Disabled, None, "ann".to_owned(), at(1)).await.expect("switches");
        let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
        let long = format!("\"{}\"", "x".repeat(1_048_576));
        let refused = [
            (wanted("nobody"), Code::TaskNotFound, "nobody"),
            (wanted("off"), Code::TaskDisabled, "disabled"),
            (with_payload("{"), Code::Validation, "JSON"),
            (with_payload("{\"a\": }"), Code::Validation, "JSON"),
            (with_payload(&deep), Code::Validation, "nested"),
            (with_payload(&long), Code::Validation, "bytes"),
            (SubmitIn { biz_id: Some(String::new()), ..wanted(TASK) }, Code::Validation, "characters"),
            (SubmitIn { biz_id: Some("x".repeat(201)), ..wanted(TASK) }, Code::Validation, "characters"),
            (SubmitIn { biz_id: Some("a\nb".to_owned()), ..wanted(TASK) }, Code::Validation, "control"),
            (SubmitIn { max_retry: Some(10_001), ..wanted(TASK) }, Code::Validation, "10000"),
            (SubmitIn { timeout: Some(Span::from_ms(0)), ..wanted(TASK) }, Code::Validation, "604800"),
            (SubmitIn { at: Some(at(0)), delay: Some(Span::from_ms(5)), ..wanted(TASK) }, Code::Validation, "exclude"),
        ];
        for (wanted, code, words) in refused {
            let (said, detail) = application.refusal(&wanted).await;
            assert!(said == code && detail.contains(words), "{wanted:?} was refused with {said:?}: {detail}");
        }
        assert_eq!(world.store().jobs(crate::JobFilter::default(), 10, None).await.expect("reads").items, []);
    })
    .await;
}

#[tokio::test]
async fn limits_of_the_task_hold_for_it() {
    with_application(async |world, _, application| {
        let serial = TaskDefinition {
            max_running: Some(1),
            concurrency_key: Some("/customer".parse().expect("a pointer")),
            ..definition()
        };
        world.create("serial", serial).await;
        let rated =
            TaskDefinition { rate_limit: Some(RateLimit { count: 2, period: Span::from_ms(60_000) }), ..definition() };
        world.create("rated", rated).await;
        for customer in ["ann", "ann", "bob"] {
            let payload = format!(r#"{{"customer": "{customer}"}}"#);
            application.submit_now(&SubmitIn { payload: Some(payload.into()), ..wanted("serial") }).await;
        }
        for _ in 0..4 {
            application.submit_now(&wanted("rated")).await;
        }
        let claims = world.claim(10, LATER).await.jobs;
        let of = |code: &str| claims.iter().filter(|claim| claim.task == task(code)).count();
        assert_eq!((of("serial"), of("rated")), (2, 2), "one of each customer, two in a minute");
    })
    .await;
}
