//! What a run is asked to do, drawn from its seed: pools, tasks, and jobs with what their bodies will do.

use std::sync::Arc;

use mainspring_engine::{JobRequest, When};
use mainspring_model::task::{FailStrategy, OnLost};
use mainspring_model::{
    BizId, HandlerName, JobId, PoolName, Priority, RateLimit, RetryRule, Span, TaskCode, TaskDefinition, Unique, limits,
};
use mainspring_store::{PoolSettings, WhenFull};

use crate::crons::{self, CronTask};

/// Little work, much room: a job of it never has a reason to be late.
pub(crate) const QUIET_POOL: &str = "quiet";
pub(crate) const PROBE_TASK: &str = "probe";
/// One job of a tenant at one time, in the quiet pool: a busy tenant is not to be felt by another.
pub(crate) const TENANTS_TASK: &str = "tenants";
/// The first number of a wish that is a probe, of a pile of work before a probe, and of the jobs of a cron task.
pub(crate) const PROBES_FROM: u32 = 1_000_000;
pub(crate) const PILE_FROM: u32 = 1_500_000;
pub(crate) const CRONS_FROM: u32 = 2_000_000;
/// Known to some nodes only.
pub(crate) const ODD_HANDLER: &str = "odd";
pub(crate) const HANDLER: &str = "act";
pub(crate) const TENANTS: u32 = 3;
/// How many of the tasks are for probes only: the last ones.
pub(crate) const PROBE_TASKS: usize = 2;

#[derive(Debug)]
pub(crate) struct Workload {
    pub(crate) pools: Vec<PoolSettings>,
    pub(crate) tasks: Vec<(TaskCode, TaskDefinition)>,
    /// Cron tasks: some are declared with the others, some made by a person.
    pub(crate) crons: Vec<CronTask>,
    /// In the order of their time.
    pub(crate) jobs: Vec<Wanted>,
    pub(crate) safety_ms: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) number: u32,
    pub(crate) at_ms: u64,
    /// Sent in one call with the next one.
    pub(crate) in_bulk: bool,
    pub(crate) request: JobRequest,
    /// Attempt by attempt; the last one stays.
    pub(crate) acts: Vec<Act>,
}

/// What a body does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Done {
        ms: u64,
    },
    DoneWithOutput {
        ms: u64,
        lines: u32,
    },
    Retry {
        ms: u64,
        not_before_ms: Option<u64>,
    },
    Fail {
        ms: u64,
    },
    NeedsPerson {
        ms: u64,
    },
    Snooze {
        ms: u64,
        wait_ms: u64,
    },
    Panic {
        ms: u64,
    },
    /// Until it is dropped.
    Hang,
    /// Until it is told to stop.
    HangPolitely,
}

pub(crate) fn draw(dice: &mut fastrand::Rng) -> Workload {
    let pools = draw_pools(dice);
    let tasks = draw_tasks(dice);
    let crons = crons::draw(dice);
    let safety_ms = 60_000;
    // Sometimes a rush: far more than the pools hold.
    let count = if dice.u32(..10) == 0 { dice.u32(300..600) } else { dice.u32(40..160) };
    let mut times: Vec<u64> = (0..count).map(|_| dice.u64(0..safety_ms - 5_000)).collect();
    times.sort_unstable();
    let jobs = times.into_iter().zip(0..).map(|(at_ms, number)| draw_job(dice, &tasks, number, at_ms)).collect();
    Workload { pools, tasks, crons, jobs, safety_ms }
}

impl Workload {
    /// What the body of a job does.
    pub(crate) fn act(&self, wish: u32, id: JobId, attempt: u32) -> Act {
        if let Some(cron) = wish.checked_sub(CRONS_FROM).and_then(|at| self.crons.get(at as usize)) {
            let at = id.0.unsigned_abs() % (cron.acts.len() as u64);
            return cron.acts[usize::try_from(at).unwrap_or(0)];
        }
        if (PILE_FROM..CRONS_FROM).contains(&wish) {
            return Act::Done { ms: 1_000 };
        }
        let acts = self.jobs.get(wish as usize).map_or(&[][..], |wanted| &wanted.acts);
        let at = (attempt.saturating_sub(1) as usize).min(acts.len().saturating_sub(1));
        acts.get(at).copied().unwrap_or(Act::Done { ms: 1 })
    }

    /// What a node declares at its start.
    pub(crate) fn declared(&self) -> impl Iterator<Item = &(TaskCode, TaskDefinition)> {
        let crons = self.crons.iter().filter(|cron| cron.declared).map(|cron| &cron.task);
        self.tasks.iter().chain(crons)
    }
}

fn draw_pools(dice: &mut fastrand::Rng) -> Vec<PoolSettings> {
    let policies = [WhenFull::Spill, WhenFull::Wait, WhenFull::CallerRuns, WhenFull::Reject];
    let pool = |name, concurrency, queue_capacity, when_full| PoolSettings {
        name: PoolName::stored(name),
        concurrency,
        queue_capacity,
        paused: false,
        when_full,
        rate_limit: None,
        cluster_concurrency: None,
    };
    let mut pools = vec![
        pool("work", dice.u32(2..6), dice.u32(4..24), WhenFull::Spill),
        pool("tight", dice.u32(1..3), dice.u32(2..8), policies[dice.usize(..policies.len())]),
        pool(QUIET_POOL, 4, 32, WhenFull::Spill),
    ];
    if dice.u32(..4) == 0 {
        pools[0].rate_limit = Some(rate(dice.u32(6..20), dice.u64(500..2_000)));
    }
    pools
}

fn rate(count: u32, period_ms: u64) -> RateLimit {
    RateLimit { count, period: Span::from_ms(period_ms) }
}

fn draw_tasks(dice: &mut fastrand::Rng) -> Vec<(TaskCode, TaskDefinition)> {
    let mut tasks = Vec::new();
    for number in 0..dice.u32(4..9) {
        let handler = if number == 1 { ODD_HANDLER } else { HANDLER };
        let mut definition = TaskDefinition::new(format!("task {number}"), HandlerName::stored(handler));
        definition.pool = PoolName::stored(if dice.u32(..3) == 0 { "tight" } else { "work" });
        definition.timeout_seconds = dice.u32(1..5);
        let base_ms = dice.i64(100..1_500);
        definition.retry = RetryRule { count: dice.u32(0..4), base_ms, cap_ms: base_ms + dice.i64(0..5_000) };
        definition.fail_strategy = match dice.u32(..8) {
            0 => FailStrategy::Stop,
            1 => FailStrategy::Alert,
            _ => FailStrategy::Retry,
        };
        definition.on_lost = if dice.u32(..5) == 0 { OnLost::Fail } else { OnLost::Rerun };
        definition.priority = Priority::ALL[dice.usize(..Priority::ALL.len())];
        draw_limits(dice, &mut definition);
        tasks.push((TaskCode::stored(&format!("task-{number}")), definition));
    }
    let mut probe = TaskDefinition::new("probe", HandlerName::stored(HANDLER));
    probe.pool = PoolName::stored(QUIET_POOL);
    tasks.push((TaskCode::stored(PROBE_TASK), probe.clone()));
    let (max_running, concurrency_key) = (Some(1), Some("/tenant".to_owned()));
    let tenants = TaskDefinition { max_running, concurrency_key, rate_limit: Some(rate(4, 1_000)), ..probe };
    tasks.push((TaskCode::stored(TENANTS_TASK), tenants));
    tasks
}

/// Most tasks have none, as in life.
pub(crate) fn draw_limits(dice: &mut fastrand::Rng, definition: &mut TaskDefinition) {
    definition.max_running = (dice.u32(..4) == 0).then(|| dice.u32(1..4));
    definition.rate_limit = (dice.u32(..5) == 0).then(|| rate(dice.u32(1..8), dice.u64(300..3_000)));
    let limited = definition.max_running.is_some() || definition.rate_limit.is_some();
    definition.concurrency_key = (limited && dice.bool()).then(|| "/tenant".to_owned());
}

fn draw_job(dice: &mut fastrand::Rng, tasks: &[(TaskCode, TaskDefinition)], number: u32, at_ms: u64) -> Wanted {
    // The probes come last and are not for everybody.
    let (task, _) = &tasks[dice.usize(..tasks.len() - PROBE_TASKS)];
    let mut request = JobRequest::new(task.clone());
    // A long one is kept apart from its row.
    let padding = if dice.u32(..20) == 0 { limits::PAYLOAD_INLINE_BYTES_MAX } else { 0 };
    request.payload = Some(payload(number, padding));
    (request.biz_id, request.unique) = match dice.u32(..10) {
        0..=2 => (None, Unique::Always),
        3..=4 => (Some(BizId::stored(&format!("once-{number}"))), Unique::Always),
        5 => (Some(BizId::stored(&format!("shared-{}", dice.u32(..5)))), Unique::Always),
        6 => (Some(BizId::stored(&format!("live-{number}"))), Unique::Live),
        _ => (Some(BizId::stored(&format!("busy-{}", dice.u32(..4)))), Unique::Live),
    };
    request.when = match dice.u32(..10) {
        0..=5 => When::Now,
        6..=8 => When::After(Span::from_ms(dice.u64(1..8_000))),
        _ => When::After(Span::from_ms(dice.u64(8_000..30_000))),
    };
    if dice.u32(..4) == 0 {
        request.max_retry = Some(dice.u32(0..4));
    }
    if dice.u32(..4) == 0 {
        request.timeout = Some(Span::from_ms(dice.u64(200..3_000)));
    }
    if dice.u32(..3) == 0 {
        request.priority = Some(Priority::ALL[dice.usize(..Priority::ALL.len())]);
    }
    let acts = draw_acts(dice);
    Wanted { number, at_ms, in_bulk: dice.u32(..2) == 0, request, acts }
}

fn draw_acts(dice: &mut fastrand::Rng) -> Vec<Act> {
    let mut acts: Vec<Act> = (0..dice.usize(0..4)).map(|_| draw_act(dice)).collect();
    let last = match dice.u32(..10) {
        0..=6 => Act::Done { ms: length(dice) },
        _ => match draw_act(dice) {
            // A job that snoozes for ever never ends.
            Act::Snooze { ms, .. } => Act::Done { ms },
            act => act,
        },
    };
    acts.push(last);
    acts
}

pub(crate) fn draw_act(dice: &mut fastrand::Rng) -> Act {
    let ms = length(dice);
    match dice.u32(..16) {
        0..=3 => Act::Done { ms },
        4 => Act::DoneWithOutput { ms, lines: dice.u32(1..20) },
        5..=7 => Act::Retry { ms, not_before_ms: None },
        8 => Act::Retry { ms, not_before_ms: Some(dice.u64(0..6_000)) },
        9 => Act::Fail { ms },
        10 => Act::NeedsPerson { ms },
        11..=12 => Act::Snooze { ms, wait_ms: dice.u64(0..4_000) },
        13 => Act::Panic { ms },
        14 => Act::Hang,
        _ => Act::HangPolitely,
    }
}

pub(crate) fn length(dice: &mut fastrand::Rng) -> u64 {
    match dice.u32(..4) {
        0 => 0,
        1 => dice.u64(1..100),
        2 => dice.u64(100..800),
        _ => dice.u64(500..2_500),
    }
}

pub(crate) fn payload(number: u32, padding: usize) -> Arc<str> {
    format!(r#"{{"wish":{number},"tenant":"{}","padding":"{}"}}"#, tenant(number), "x".repeat(padding)).into()
}

/// The key by which limits count the job, where they count by key.
pub(crate) fn tenant(number: u32) -> String {
    format!("tenant {}", number % TENANTS)
}

/// The number that `payload` wrote.
pub(crate) fn wish_in(payload: &str) -> Option<u32> {
    payload.strip_prefix(r#"{"wish":"#)?.split_once(',')?.0.parse().ok()
}

/// One that was asked for by a client: at most one job comes of it.
pub(crate) fn is_wish(number: u32) -> bool {
    number < CRONS_FROM
}
