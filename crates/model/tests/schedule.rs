//! Fire times, and what becomes of those that are due.

use std::sync::Arc;

use mainspring_model::job::Fires;
use mainspring_model::schedule::{Every, How, NextFire, Plan, Rhythm, Schedule, plan, replan};
use mainspring_model::task::Misfire;
use mainspring_model::{Calendar, CalendarName, HandlerName, Span, TaskDefinition, Timestamp, calendar};
use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};

fn at(text: &str) -> Timestamp {
    text.parse().expect(text)
}

fn cron(expression: &str, zone: &str) -> TaskDefinition {
    let definition = TaskDefinition::cron("test", HandlerName::stored("test"), expression);
    TaskDefinition { time_zone: Some(zone.to_owned()), ..definition }
}

fn every(span: &str, rhythm: Rhythm) -> TaskDefinition {
    let every = Some(Every { span: span.parse().expect(span), rhythm });
    TaskDefinition { cron_expression: None, every, ..cron("", "UTC") }
}

fn schedule(definition: &TaskDefinition) -> Schedule {
    Schedule::of(definition, None).expect("a sound schedule").expect("a cron task")
}

fn fires(schedule: &Schedule, after: &str, count: usize) -> Vec<String> {
    schedule.fires(at(after)).take(count).map(|fire| schedule.zone().show(fire)).collect()
}

#[test]
fn intervals_fall_on_multiples_wherever_they_begin() {
    let tens = schedule(&every("10s", Rhythm::FixedRate));
    assert_eq!(fires(&tens, "2026-12-01T08:00:03.200Z", 2), ["2026-12-01T08:00:10+00:00", "2026-12-01T08:00:20+00:00"]);
    assert_eq!(tens.next(at("2026-12-01T08:00:10Z")), Some(at("2026-12-01T08:00:20Z")), "strictly later");
    let start = Some(at("2026-12-01T08:00:05Z"));
    let anchored = schedule(&TaskDefinition { start_at: start, ..every("1m", Rhythm::FixedRate) });
    assert_eq!(anchored.next(at("2026-11-01T00:00:00Z")), start, "nothing before the start, and the start itself");
    assert_eq!(anchored.next(at("2026-12-01T08:00:05Z")), Some(at("2026-12-01T08:01:05Z")));
    let after_end = schedule(&every("10s", Rhythm::FixedDelay));
    assert_eq!(after_end.next(at("2026-12-01T08:00:03.200Z")), Some(at("2026-12-01T08:00:13.200Z")));
}

#[test]
fn a_schedule_keeps_within_its_dates() {
    let (start, end) = (Some(at("2026-12-02T00:00:00Z")), Some(at("2026-12-03T06:00:00Z")));
    let bounded = TaskDefinition { start_at: start, end_at: end, ..cron("0 6 * * *", "UTC") };
    let bounded = schedule(&bounded);
    assert_eq!(fires(&bounded, "2026-11-01T00:00:00Z", 5), ["2026-12-02T06:00:00+00:00", "2026-12-03T06:00:00+00:00"]);
    let on_the_second = TaskDefinition { start_at: Some(at("2026-12-02T06:00:00Z")), ..cron("0 6 * * *", "UTC") };
    assert_eq!(schedule(&on_the_second).next(at("2026-11-01T00:00:00Z")), Some(at("2026-12-02T06:00:00Z")));
}

fn national_days() -> Arc<Calendar> {
    let days = |days: &[&str]| days.iter().map(|day| calendar::day(day).expect("a day")).collect();
    Arc::new(Calendar {
        name: CalendarName::stored("cn"),
        description: None,
        excluded: days(&["2026-10-01", "2026-10-02", "2026-10-05", "2026-10-06", "2026-10-07"]),
        working: days(&["2026-09-27", "2026-10-10"]),
    })
}

fn by_calendar(expression: &str) -> Schedule {
    let definition = cron(expression, "Asia/Shanghai");
    Schedule::of(&definition, Some(national_days())).expect("sound").expect("a cron task")
}

#[test]
fn a_calendar_takes_days_away_and_makes_days_up() {
    let working_days = by_calendar("0 9 * * MON-FRI");
    let expect = ["25", "27", "28", "29", "30"].map(|day| format!("2026-09-{day}T09:00:00+08:00"));
    assert_eq!(fires(&working_days, "2026-09-24T12:00:00Z", 5), expect, "Sunday the 27th is made up");
    let expect = ["08", "09", "10", "12"].map(|day| format!("2026-10-{day}T09:00:00+08:00"));
    assert_eq!(fires(&working_days, "2026-09-30T12:00:00Z", 4), expect, "the holidays are left out");
    let weekly = by_calendar("0 9 * * MON");
    assert_eq!(fires(&weekly, "2026-09-22T12:00:00Z", 2), ["2026-09-28T09:00:00+08:00", "2026-10-12T09:00:00+08:00"]);
    let monthly = by_calendar("0 9 10 * *");
    assert_eq!(fires(&monthly, "2026-09-24T12:00:00Z", 1), ["2026-10-10T09:00:00+08:00"], "its own day is not doubled");
    let daily = by_calendar("0 9 * * *");
    let next = "2026-10-03T09:00:00+08:00";
    assert_eq!(fires(&daily, "2026-09-30T12:00:00Z", 1), [next], "a weekend between two holidays is no holiday");
    let often = by_calendar("*/30 8-9 * * MON-FRI");
    let expect = ["08:00", "08:30", "09:00", "09:30"].map(|time| format!("2026-10-10T{time}:00+08:00"));
    assert_eq!(fires(&often, "2026-10-09T12:00:00Z", 4), expect, "all times of a day that is made up");
}

#[test]
fn a_day_of_rest_that_the_clocks_show_twice_is_left_behind() {
    // At one minute past midnight the clocks went back into the day before.
    let excluded = [calendar::day("2010-11-06").expect("a day")].into();
    let calendar = Calendar { excluded, working: [].into(), ..Calendar::clone(&national_days()) };
    let definition = cron("30 * * * *", "America/St_Johns");
    let hourly = Schedule::of(&definition, Some(Arc::new(calendar))).expect("sound").expect("a cron task");
    assert_eq!(fires(&hourly, "2010-11-06T20:00:00Z", 1), ["2010-11-07T00:30:00-03:30"]);
}

#[test]
fn a_fixed_delay_begins_on_its_first_instant() {
    let start = Some(at("2026-12-01T12:00:00Z"));
    let definition = TaskDefinition { start_at: start, ..every("10m", Rhythm::FixedDelay) };
    let delayed = schedule(&definition);
    let now = at("2026-12-01T08:00:00Z");
    assert_eq!(delayed.next(now), start);
    assert_eq!(delayed.next(at("2026-12-01T11:55:00Z")), Some(at("2026-12-01T12:05:00Z")));
    assert_eq!(replan(&delayed, start, now), None, "a start does not plan it anew");
    let rests =
        Schedule::of(&every("1h", Rhythm::FixedDelay), Some(national_days())).expect("sound").expect("a cron task");
    assert_eq!(rests.next(at("2026-10-01T08:00:00Z")), Some(at("2026-10-03T00:00:00Z")), "as its days of rest end");
}

fn shown(plan: &Plan) -> String {
    let fires = plan.fires.iter().map(|fire| {
        let Fires { first, last, count } = fire.fires;
        let second = |time: Timestamp| time.as_ms() / 1_000 % 100_000;
        match fire.how {
            How::OnTime => format!("on time {}", second(last)),
            how => format!("{how:?} {}..{} x{count}", second(first), second(last)),
        }
    });
    let next = match plan.next {
        NextFire::At(time) => format!("next {}", time.as_ms() / 1_000 % 100_000),
        other => format!("{other:?}"),
    };
    fires.chain([next]).collect::<Vec<_>>().join(", ")
}

#[test]
fn due_fire_times_are_run_or_recorded_by_the_policy() {
    let check = |misfire, late_seconds: i64, expect: &str| {
        let definition = TaskDefinition { misfire, max_catchup: 3, ..every("10s", Rhythm::FixedRate) };
        let due = Timestamp::from_ms(1_790_000_000_000);
        let plan = plan(&schedule(&definition), &definition, due, due.plus_ms(late_seconds * 1_000));
        assert_eq!(shown(&plan), expect, "{misfire} {late_seconds}");
    };
    for misfire in Misfire::ALL {
        check(*misfire, 0, "on time 0, next 10");
        check(*misfire, 25, "on time 0, on time 10, on time 20, next 30");
        let seven = "on time 0, on time 10, on time 20, on time 30, on time 40, on time 50, on time 60, next 70";
        check(*misfire, 60, seven);
    }
    check(Misfire::FireOnce, 61, "Misfire 0..60 x7, next 70");
    check(Misfire::Skip, 75, "Skip 0..70 x8, next 80");
    check(Misfire::FireAll, 75, "Skip 0..40 x5, CatchUp 50..50 x1, CatchUp 60..60 x1, CatchUp 70..70 x1, next 80");
    check(Misfire::FireOnce, 90_000, "Misfire 0..90000 x1000, next 90010");
    check(
        Misfire::FireAll,
        90_000,
        "Skip 0..89970 x1000, CatchUp 89980..89980 x1, CatchUp 89990..89990 x1, \
                                     CatchUp 90000..90000 x1, next 90010",
    );
}

#[test]
fn a_fixed_delay_waits_for_the_end_of_its_job() {
    let check = |misfire, late_seconds: i64, expect: &str| {
        let definition = TaskDefinition { misfire, ..every("10s", Rhythm::FixedDelay) };
        let due = Timestamp::from_ms(1_790_000_000_000);
        let plan = plan(&schedule(&definition), &definition, due, due.plus_ms(late_seconds * 1_000));
        assert_eq!(shown(&plan), expect, "{misfire} {late_seconds}");
    };
    check(Misfire::FireOnce, 5, "on time 0, AfterEnd");
    check(Misfire::FireOnce, 500, "Misfire 0..0 x1, AfterEnd");
    check(Misfire::FireAll, 500, "Misfire 0..0 x1, AfterEnd");
    check(Misfire::Skip, 500, "Skip 0..0 x1, next 510");
}

#[test]
fn a_long_stop_of_a_fast_task_is_planned_quickly_and_to_its_end() {
    let definition = TaskDefinition { misfire: Misfire::FireAll, ..cron("* * * * 1-6 ?", "America/New_York") };
    let plan = plan(&schedule(&definition), &definition, at("2020-01-01T05:00:00Z"), at("2026-12-01T00:00:00Z"));
    let last = plan.fires.last().expect("ten catch up").fires.last;
    assert_eq!((last, plan.fires.len()), (at("2026-07-01T03:59:59Z"), 11), "the last second of June");
    assert_eq!(plan.next, NextFire::At(at("2027-01-01T05:00:00Z")));
}

#[test]
fn a_planned_fire_must_be_the_one_that_follows_from_now() {
    let daily = schedule(&cron("0 6 * * *", "UTC"));
    let now = at("2026-12-01T08:00:00Z");
    let check = |stored: Option<&str>, expect: Option<&str>| {
        let replanned = replan(&daily, stored.map(at), now).map(|next| next.time().expect("it goes on"));
        assert_eq!(replanned, expect.map(at), "{stored:?}");
    };
    check(Some("2026-12-02T06:00:00Z"), None);
    check(Some("2026-12-01T06:00:00Z"), None);
    check(Some("2026-12-09T06:00:00Z"), Some("2026-12-02T06:00:00Z"));
    check(Some("2026-12-02T05:00:00Z"), Some("2026-12-02T06:00:00Z"));
    check(None, Some("2026-12-02T06:00:00Z"));
    let after_end = schedule(&every("10s", Rhythm::FixedDelay));
    assert_eq!(replan(&after_end, None, now), None, "it waits for the end of a job");
    let far = Some(now.plus_ms(3_600_000));
    assert_eq!(replan(&after_end, far, now), Some(NextFire::At(now.plus_ms(10_000))));
}

fn any_definition() -> impl Strategy<Value = TaskDefinition> {
    let expression = prop_oneof![
        Just("* * * * *"),
        Just("*/7 * * * *"),
        Just("30 2 * * *"),
        Just("0 0 * * MON-FRI"),
        Just("15,45 */3 * * *"),
        Just("*/20 * * * * ?"),
    ];
    let zone = prop_oneof![Just("UTC"), Just("Europe/Berlin"), Just("America/New_York"), Just("Asia/Shanghai")];
    let crons = (expression, zone).prop_map(|(expression, zone)| cron(expression, zone));
    let intervals = (1_u64..200).prop_map(|seconds| {
        let every = Some(Every { span: Span::from_ms(seconds * 1_000), rhythm: Rhythm::FixedRate });
        TaskDefinition { cron_expression: None, every, ..cron("", "UTC") }
    });
    let misfire = prop_oneof![Just(Misfire::FireOnce), Just(Misfire::Skip), Just(Misfire::FireAll)];
    (prop_oneof![crons, intervals], misfire, 1_u32..100, 1_u32..20).prop_map(|(definition, misfire, grace, max)| {
        TaskDefinition { misfire, misfire_grace_seconds: grace, max_catchup: max, ..definition }
    })
}

proptest! {
    /// However irregularly a scheduler looks, each fire time is answered for exactly once, in order.
    #[test]
    fn every_fire_time_is_run_or_recorded_as_skipped(
        definition in any_definition(),
        // Around both changes of the clocks of 2026.
        begin in prop_oneof![Just("2026-03-07T20:00:00Z"), Just("2026-03-28T20:00:00Z"), Just("2026-10-24T20:00:00Z")],
        pauses in proptest::collection::vec((any::<bool>(), 1_i64..7_200), 1..40),
    ) {
        let schedule = schedule(&definition);
        let begin = at(begin);
        let (mut now, mut next, mut seen) = (begin, schedule.next(begin), 0_u32);
        let mut expected = schedule.fires(begin);
        for (is_short, pause) in pauses {
            now = now.plus_ms(if is_short { pause } else { pause * 1_000 });
            while let Some(due) = next.filter(|due| *due <= now) {
                let plan = plan(&schedule, &definition, due, now);
                for fire in &plan.fires {
                    let Fires { first, last, count } = fire.fires;
                    let range: Vec<Timestamp> = expected.by_ref().take_while_inclusive(last).collect();
                    prop_assert_eq!((range.first(), range.last()), (Some(&first), Some(&last)));
                    prop_assert_eq!(count as usize, range.len().min(1_000));
                    seen += count;
                }
                next = plan.next.time();
            }
        }
        prop_assert_eq!(expected.next(), next);
        prop_assert_eq!(schedule.fires(begin).take_while(|fire| *fire <= now).count().min(1_000), (seen as usize).min(1_000));
    }
}

trait TakeWhileInclusive: Iterator<Item = Timestamp> + Sized {
    /// Up to `last`, and not one more.
    fn take_while_inclusive(self, last: Timestamp) -> impl Iterator<Item = Timestamp> {
        let mut ended = false;
        let mut all = self;
        std::iter::from_fn(move || {
            let next = if ended { None } else { all.next() };
            ended = next.is_none_or(|next| next >= last);
            next
        })
    }
}

impl<I: Iterator<Item = Timestamp>> TakeWhileInclusive for I {}
