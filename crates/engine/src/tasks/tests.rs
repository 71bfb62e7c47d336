use mainspring_model::task::TaskSwitch;
use mainspring_model::{HandlerName, Task, TaskCode, TaskDefinition, Timestamp};

use super::{From, Seen, Tasks};

const NOW: Timestamp = Timestamp::from_ms(1_790_000_000_000);

fn task(next_fire: Option<Timestamp>) -> Task {
    Task {
        id: 1,
        code: TaskCode::stored("tick"),
        switch: TaskSwitch::Enabled,
        definition: TaskDefinition::cron("tick", HandlerName::stored("ok"), "* * * * *"),
        next_fire_time: next_fire,
        prev_fire_time: None,
        disabled_reason: None,
        version: 1,
        create_time: NOW,
        update_time: NOW,
    }
}

#[test]
fn what_was_heard_after_a_fire_stays() {
    let (tasks, code) = (Tasks::default(), TaskCode::stored("tick"));
    tasks.put(task(Some(NOW)));
    let seen = Seen { code: &code, version: 1, next_fire: Some(NOW) };
    // The job that fired has ended, and its end has planned the next fire, before the fire is followed.
    let planned = Some(NOW.plus_ms(5_000));
    tasks.put(task(planned));
    tasks.fired(&seen, None, Some(NOW));
    assert_eq!(tasks.next_due(), planned);
}

#[test]
fn a_task_that_cannot_be_fired_lets_others_go_first() {
    let (tasks, code) = (Tasks::default(), TaskCode::stored("tick"));
    tasks.put(task(Some(NOW)));
    let seen = Seen { code: &code, version: 1, next_fire: Some(NOW) };
    let later = NOW.plus_ms(1_000);
    tasks.set_aside(&seen, later);
    assert!(tasks.due(NOW, 9, From::TheLongestDue).is_empty());
    assert_eq!((tasks.due(later, 9, From::TheLongestDue).len(), tasks.next_due()), (1, Some(later)));
    tasks.put(task(Some(NOW)));
    assert_eq!(tasks.due(NOW, 9, From::TheLongestDue).len(), 1, "what is read again is tried again");
    tasks.set_aside(&seen, later);
    tasks.fired(&seen, None, None);
    assert_eq!(tasks.next_due(), None);
}

#[test]
fn what_changed_while_all_was_read_is_read_again() {
    let (tasks, code) = (Tasks::default(), TaskCode::stored("tick"));
    tasks.put(task(Some(NOW)));
    let other = Task { code: TaskCode::stored("tock"), ..task(Some(NOW)) };
    tasks.put(other.clone());
    let from = tasks.last_change();
    let later = Some(NOW.plus_ms(9_000));
    assert_eq!(tasks.put_all_read(vec![task(later), other.clone()], from), []);
    assert_eq!(tasks.get(&code).and_then(|task| task.next_fire_time), later);
    assert_eq!(
        tasks.put_all_read(vec![task(Some(NOW)), other], from),
        std::slice::from_ref(&code),
        "it is newer than what was read"
    );
    assert_eq!(tasks.put_all_read(vec![task(later)], tasks.last_change()), []);
    assert_eq!(tasks.all().len(), 1, "the other one is gone");
}

#[test]
fn nodes_that_meet_at_one_instant_begin_at_different_places() {
    let tasks = Tasks::default();
    for code in ["a", "b", "c"] {
        tasks.put(Task { code: TaskCode::stored(code), ..task(Some(NOW)) });
    }
    let check = |from, max, expect: &str| {
        let codes: String = tasks.due(NOW, max, from).iter().map(|due| due.task.code.to_string()).collect();
        assert_eq!(codes, expect, "{max} {from:?}");
    };
    check(From::TheLongestDue, 2, "ab");
    check(From::Anywhere(0), 2, "ab");
    check(From::Anywhere(1), 2, "bc");
    check(From::Anywhere(2), 2, "ab");
    check(From::Anywhere(7), 9, "abc");
}

#[test]
fn jobs_of_strangers_are_left_alone_until_they_are_known() {
    let (tasks, code) = (Tasks::default(), TaskCode::stored("tick"));
    let excluded = || tasks.excluded(|task| task.definition.handler.as_str() != "ok");
    assert_eq!(excluded(), []);
    tasks.exclude_stranger(&code);
    assert_eq!(excluded(), std::slice::from_ref(&code));
    tasks.put(task(None));
    assert_eq!(excluded(), []);
    let mut edited = Task { version: 2, ..task(None) };
    edited.definition.handler = HandlerName::stored("other");
    tasks.put(edited);
    assert_eq!(excluded(), [code]);
}
