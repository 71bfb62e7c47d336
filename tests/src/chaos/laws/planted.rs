//! Made-up histories: a good one passes, and each planted fault is found by its law.

use super::judge;
use crate::chaos::history::{
    Asked, Attempt, Body, Ending, Fault, History, Job, Keys, Kind, Life, Ms, Schedule, Sighting, Task, Verb, Word,
};

const NODE_0: u32 = 100;
const NODE_1: u32 = 101;

/// Two nodes, a job that succeeds, one that fails twice, one of a lane, and a schedule with three fires.
fn good() -> History {
    let life = |pid, node| Life { pid, node, ready_ms: Some(0), died_ms: None };
    let task = |code: &str, keys, ends, is_serial, schedule| Task {
        code: code.to_owned(),
        keys,
        ends,
        is_serial,
        retry_base_ms: 1_000,
        schedule,
    };
    let schedule = Schedule { every_ms: 1_000, from_ms: 500, to_ms: 3_500 };
    let mut history = History {
        tasks: vec![
            task("ok", Keys::Always, "SUCCESS", false, None),
            task("fail", Keys::Always, "FAILED", false, None),
            task("serial", Keys::Always, "SUCCESS", true, None),
            task("tick", Keys::Fires, "SUCCESS", false, Some(schedule)),
        ],
        lives: vec![life(NODE_0, 0), life(NODE_1, 1)],
        load_end_ms: 1_000_000,
        ..History::default()
    };
    add(&mut history, "1", "ok", "SUCCESS", &[(1, NODE_0, 1_000, 2_000, "SUCCESS")]);
    let tries = [(1, NODE_0, 1_000, 1_010, "FAILED"), (2, NODE_1, 2_000, 2_010, "FAILED")];
    add(&mut history, "2", "fail", "FAILED", &tries);
    add(&mut history, "3", "serial", "SUCCESS", &[(1, NODE_0, 1_000, 2_000, "SUCCESS")]);
    add(&mut history, "4", "serial", "SUCCESS", &[(1, NODE_1, 2_000, 3_000, "SUCCESS")]);
    for (id, time) in [("11", 1_000), ("12", 2_000), ("13", 3_000)] {
        add(&mut history, id, "tick", "SUCCESS", &[(1, NODE_0, time, time + 5, "SUCCESS")]);
        history.job(id).fire_ms = Some(time);
    }
    history
}

type Try = (i64, u32, Ms, Ms, &'static str);

fn add(history: &mut History, id: &str, task: &str, status: &str, tries: &[Try]) {
    let key = (task != "tick").then(|| format!("key-{id}"));
    if let Some(key) = &key {
        let (task, key, id) = (task.to_owned(), key.clone(), id.to_owned());
        history.asked.push(Asked { task, key, id, answered_ms: 900 });
    }
    let fence = tries.last().map_or(0, |(fence, ..)| *fence);
    let finish_ms = tries.last().map(|(_, _, _, end, _)| *end);
    let (id_too, task, status) = (id.to_owned(), task.to_owned(), status.to_owned());
    history.jobs.push(Job { id: id_too, task, key, status, finish_ms, fence, max_retry: 1, ..Job::default() });
    for (fence, pid, start_ms, end_ms, status) in tries {
        history.body(id, (*fence, *pid, *start_ms, *end_ms));
        history.attempt(id, (*fence, *start_ms, *end_ms, status));
    }
}

impl History {
    fn job(&mut self, id: &str) -> &mut Job {
        self.jobs.iter_mut().find(|job| job.id == id).expect("it is in the history")
    }

    fn body(&mut self, job: &str, (fence, pid, start_ms, end_ms): (i64, u32, Ms, Ms)) {
        let ending = Ending::Noted;
        self.bodies.push(Body { job: job.to_owned(), fence, pid, start_ms, end_ms, ending });
    }

    fn attempt(&mut self, job: &str, (fence, start_ms, end_ms, status): (i64, Ms, Ms, &str)) {
        let (job, status) = (job.to_owned(), status.to_owned());
        self.attempts.push(Attempt { job, fence, status, start_ms, finish_ms: Some(end_ms) });
    }

    fn fault(&mut self, kind: Kind, pid: Option<u32>, (from_ms, to_ms): (Ms, Ms)) {
        let node = pid.map(|pid| usize::from(pid == NODE_1));
        self.faults.push(Fault { kind, node, pid, from_ms, to_ms });
    }

    fn word(&mut self, job: &str, verb: Verb, at: Ms) {
        self.words.push(Word { job: job.to_owned(), verb, asked_ms: at, answered_ms: at, accepted: true });
    }
}

/// The laws that the changed history breaks, without repetition.
#[track_caller]
fn check(change: impl Fn(&mut History), expect: &[&str]) {
    let mut history = good();
    change(&mut history);
    let verdict = judge(&history);
    let mut laws: Vec<&str> = verdict.breaches.iter().map(|breach| breach.law).collect();
    laws.sort_unstable();
    laws.dedup();
    assert_eq!(laws, expect, "{:#?}", verdict.breaches);
}

#[test]
fn a_good_history_breaks_no_law() {
    check(|_| {}, &[]);
    assert_eq!(judge(&good()).facts["fire times"], 3);
}

#[test]
fn what_was_noticed_while_it_ran_counts() {
    check(|h| h.complaints.push("verify: 1 violation".to_owned()), &["noticed while it ran"]);
}

#[test]
fn a_lost_job_is_found() {
    let without = |h: &mut History| h.jobs.retain(|job| job.id != "1");
    check(without, &["lost"]);
    check(|h| h.job("1").status = "PENDING".to_owned(), &["lost", "settled twice"]);
    let never_ended = |h: &mut History| {
        add(h, "5", "ok", "EXECUTING", &[(1, NODE_0, 1_000, 2_000, "RUNNING")]);
        h.bodies.last_mut().expect("a body").ending = Ending::Never;
    };
    check(never_ended, &["a body never ended", "an attempt never ended", "lost"]);
}

#[test]
fn a_doubled_job_is_found() {
    let unknown = |h: &mut History| {
        add(h, "5", "ok", "SUCCESS", &[(1, NODE_0, 1_000, 2_000, "SUCCESS")]);
        h.asked.pop();
    };
    check(unknown, &["doubled"]);
    let two_answers = |h: &mut History| {
        add(h, "5", "ok", "SUCCESS", &[(1, NODE_0, 1_000, 2_000, "SUCCESS")]);
        h.asked.last_mut().expect("an answer").key = "key-1".to_owned();
        h.job("5").key = Some("key-1".to_owned());
    };
    check(two_answers, &["doubled"]);
}

#[test]
fn a_second_settlement_is_found() {
    let twice = |h: &mut History| {
        h.body("1", (2, NODE_1, 3_000, 4_000));
        h.attempt("1", (2, 3_000, 4_000, "SUCCESS"));
        h.job("1").finish_ms = Some(4_000);
    };
    check(twice, &["settled by an old claim", "settled twice"]);
    let changed = |h: &mut History| {
        let (job, status) = ("1".to_owned(), "SUCCESS".to_owned());
        h.sightings.push(Sighting { job, at_ms: 2_500, status, finish_ms: Some(1_999), fence: 1 });
    };
    check(changed, &["settled twice"]);
}

#[test]
fn a_wrong_outcome_is_found() {
    check(|h| h.word("1", Verb::Cancel, 1_500), &["wrong outcome"]);
    let failed = |h: &mut History| {
        h.job("1").status = "FAILED".to_owned();
        h.attempts.retain(|attempt| attempt.job != "1");
        h.attempt("1", (1, 1_000, 2_000, "FAILED"));
    };
    check(failed, &["too few tries", "wrong outcome"]);
    let poisoned = |h: &mut History| {
        failed(h);
        h.job("1").losses = 3;
    };
    check(poisoned, &[]);
}

#[test]
fn a_try_too_many_is_found() {
    let third = |h: &mut History| {
        h.body("2", (3, NODE_0, 4_000, 4_010));
        h.attempt("2", (3, 4_000, 4_010, "FAILED"));
        h.job("2").finish_ms = Some(4_010);
    };
    check(third, &["too many tries"]);
    check(
        |h| {
            third(h);
            h.word("2", Verb::Retry, 3_000);
        },
        &[],
    );
}

#[test]
fn an_early_start_is_found() {
    check(|h| h.job("1").due_ms = 1_001, &["started early"]);
    check(|h| h.job("1").due_ms = 1_000, &[]);
    let hurried = |h: &mut History| {
        h.job("1").due_ms = 5_000;
        h.word("1", Verb::Retry, 990);
    };
    check(hurried, &[]);
    check(|h| h.bodies.iter_mut().find(|b| b.job == "11").expect("there").start_ms = 999, &["started early"]);
    check(|h| h.bodies.iter_mut().find(|b| b.fence == 2).expect("there").start_ms = 1_809, &["retried early"]);
}

#[test]
fn an_overlap_is_found_and_a_pause_or_a_cancel_explains_it() {
    let second = |h: &mut History| {
        h.attempts.iter_mut().find(|a| a.job == "1").expect("there").status = "LOST".to_owned();
        h.body("1", (2, NODE_1, 1_500, 3_000));
        h.attempt("1", (2, 1_500, 3_000, "SUCCESS"));
        h.job("1").fence = 2;
        h.fault(Kind::Slow, Some(NODE_1), (0, 10));
    };
    check(second, &["two bodies at once"]);
    let kills = |h: &mut History| {
        second(h);
        h.fault(Kind::Kill, Some(NODE_0), (800, 1_600));
    };
    check(kills, &["two bodies at once"]);
    let pauses = |h: &mut History| {
        second(h);
        h.fault(Kind::Pause, Some(NODE_0), (1_100, 1_600));
    };
    check(pauses, &[]);
    check(|h| h.bodies.iter_mut().find(|b| b.job == "4").expect("there").start_ms = 1_999, &["two bodies at once"]);
    let other_lane = |h: &mut History| {
        h.job("4").lane = Some("b".to_owned());
        h.bodies.iter_mut().find(|b| b.job == "4").expect("there").start_ms = 1_999;
    };
    check(other_lane, &[]);
    let sent_away = |h: &mut History| {
        h.bodies.iter_mut().find(|b| b.job == "4").expect("there").start_ms = 1_999;
        h.word("3", Verb::Cancel, 1_990);
        h.job("3").status = "CANCELLED".to_owned();
        h.attempts.iter_mut().find(|a| a.job == "3").expect("there").status = "CANCELLED".to_owned();
    };
    check(sent_away, &[]);
}

#[test]
fn a_body_after_the_end_is_found() {
    let late = |h: &mut History| {
        h.body("1", (0, NODE_1, 2_006, 2_010));
        h.fault(Kind::Kill, Some(NODE_1), (2_100, 2_200));
    };
    check(late, &["begun after the end"]);
    check(
        |h| {
            late(h);
            h.fault(Kind::Pause, Some(NODE_1), (500, 2_000));
        },
        &[],
    );
}

#[test]
fn a_live_key_holds_one_job_at_a_time() {
    let live = |second_start: Ms| {
        move |h: &mut History| {
            h.tasks[0].keys = Keys::Live;
            add(h, "5", "ok", "SUCCESS", &[(1, NODE_0, second_start, 4_000, "SUCCESS")]);
            h.asked.last_mut().expect("an answer").key = "key-1".to_owned();
            h.job("5").key = Some("key-1".to_owned());
        }
    };
    check(live(2_000), &[]);
    check(live(1_999), &["two bodies at once"]);
}

#[test]
fn witness_and_product_must_tell_the_same() {
    check(|h| h.bodies.retain(|body| body.job != "1"), &["an attempt without a body", "success without a body"]);
    check(|h| h.body("1", (2, NODE_1, 2_005, 2_010)), &["a body without an attempt"]);
    let explained = |h: &mut History| {
        h.body("1", (2, NODE_1, 2_005, 2_010));
        h.fault(Kind::Kill, Some(NODE_1), (2_010, 5_000));
    };
    check(explained, &[]);
    check(|h| h.body("1", (1, NODE_1, 2_005, 2_010)), &["one claim ran twice"]);
    check(|h| h.attempt("1", (0, 500, 600, "LOST")), &["an attempt without a body", "lost without a fault"]);
}

#[test]
fn missing_and_doubled_fires_are_found() {
    check(|h| h.jobs.retain(|job| job.id != "12"), &["a fire is missing", "lost"]);
    check(|h| h.job("12").fire_ms = Some(1_000), &["a fire is missing", "fired twice"]);
    let one_for_two = |h: &mut History| {
        h.jobs.retain(|job| job.id != "12");
        h.bodies.retain(|body| body.job != "12");
        h.attempts.retain(|attempt| attempt.job != "12");
        h.job("13").first_fire_ms = Some(2_000);
    };
    check(one_for_two, &[]);
}

/// Killed while job 5 ran; it runs again after so long.
fn killed(again_after_ms: Ms) -> impl Fn(&mut History) {
    move |h| {
        let again = 11_000 + again_after_ms;
        let tries = [(1, NODE_0, 10_000, 11_000, "LOST"), (2, NODE_1, again, again + 10, "SUCCESS")];
        add(h, "5", "ok", "SUCCESS", &tries);
        let first = h.bodies.iter_mut().find(|body| body.job == "5").expect("there");
        first.ending = Ending::WithProcess;
        h.fault(Kind::Kill, Some(NODE_0), (11_000, 12_000));
    }
}

#[test]
fn a_late_take_over_is_found() {
    check(killed(20_000), &[]);
    check(killed(20_001), &["taken over late"]);
    let mut history = good();
    killed(19_000)(&mut history);
    assert_eq!(judge(&history).take_overs_ms, [19_000]);
    let with_outage = |again| {
        move |h: &mut History| {
            killed(again)(h);
            h.fault(Kind::CutOff, Some(NODE_1), (15_000, 20_000));
        }
    };
    let behind_a_last_chance = |again| {
        move |h: &mut History| {
            killed(again)(h);
            let lost = [(1, NODE_0, 5_000, 6_000, "LOST"), (2, NODE_0, 7_000, 8_000, "LOST")];
            add(h, "6", "ok", "SUCCESS", &lost);
            h.body("6", (3, NODE_1, 25_000, 26_000));
            h.attempt("6", (3, 25_000, 26_000, "SUCCESS"));
            h.job("6").fence = 3;
            h.fault(Kind::Pause, Some(NODE_0), (4_000, 8_000));
        }
    };
    check(behind_a_last_chance(27_000), &[]);
    check(behind_a_last_chance(27_001), &["taken over late"]);
    check(with_outage(29_000), &[]);
    check(with_outage(29_001), &["taken over late"]);
}

#[test]
fn a_node_that_does_not_come_back_after_an_outage_is_found() {
    let outage = |first_ms: Ms| {
        move |h: &mut History| {
            h.fault(Kind::DatabaseKilled, None, (50_000, 55_000));
            add(h, "5", "ok", "SUCCESS", &[(1, NODE_0, 55_000 + first_ms, 70_000, "SUCCESS")]);
            add(h, "6", "ok", "SUCCESS", &[(1, NODE_1, 56_000, 70_000, "SUCCESS")]);
        }
    };
    check(outage(10_000), &[]);
    check(outage(10_001), &["resumed late"]);
    let mut history = good();
    outage(3_000)(&mut history);
    assert_eq!(judge(&history).resumptions_ms, [3_000, 1_000]);
}
