//! Pages of short lists: filter, order, window. Orders map from a closed set, never from text.

use std::cmp::Ordering;
use std::str::FromStr;

use mainspring_model::lifecycle::{TaskState, task_state};
use mainspring_model::{CalendarName, Refused, Task, Timestamp, text};
use mainspring_store::{LiveCount, TaskFilter};

use crate::query::Params;

/// What a list of tasks is asked for beyond the filter that the engine knows.
#[derive(Debug)]
pub(crate) struct Wanted {
    status: Option<TaskState>,
    calendar: Option<CalendarName>,
}

pub(crate) fn task_filter(params: &mut Params) -> (TaskFilter, Wanted) {
    let filter = TaskFilter {
        text: params.text("q"),
        kind: params.one("type"),
        pool: params.one("pool"),
        tag: params.text("tag"),
    };
    (filter, Wanted { status: params.one("status"), calendar: params.one("calendar") })
}

/// A task with what is known of its jobs.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) task: Task,
    pub(crate) live: LiveCount,
    state: TaskState,
}

impl Row {
    pub(crate) fn new(live: LiveCount, task: Task) -> Row {
        Row { state: task_state(&task, live.jobs), task, live }
    }

    pub(crate) fn is(&self, wanted: &Wanted) -> bool {
        wanted.status.is_none_or(|status| status == self.state)
            && wanted.calendar.as_ref().is_none_or(|calendar| self.task.definition.calendar.as_ref() == Some(calendar))
    }
}

/// How many to skip, how many to take. Page 1 is the first.
pub(crate) fn window(page: u32, size: u32) -> (usize, usize) {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let before = usize::try_from(page.saturating_sub(1)).unwrap_or(usize::MAX);
    (before.saturating_mul(size), size)
}

#[derive(Debug, Clone, Copy)]
enum SortField {
    Code,
    Name,
    Kind,
    Status,
    Pool,
    Priority,
    Owner,
    NextFireTime,
    PrevFireTime,
    CreateTime,
    UpdateTime,
}

const SORT_FIELDS: [(&str, SortField); 11] = [
    ("code", SortField::Code),
    ("name", SortField::Name),
    ("type", SortField::Kind),
    ("status", SortField::Status),
    ("pool", SortField::Pool),
    ("priority", SortField::Priority),
    ("owner", SortField::Owner),
    ("nextFireTime", SortField::NextFireTime),
    ("prevFireTime", SortField::PrevFireTime),
    ("createTime", SortField::CreateTime),
    ("updateTime", SortField::UpdateTime),
];

#[derive(Debug, Clone, Copy)]
enum Direction {
    Up,
    Down,
}

/// `field,-field`; by code where nothing else decides.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskOrder(Vec<(SortField, Direction)>);

impl FromStr for TaskOrder {
    type Err = Refused;
    fn from_str(order: &str) -> Result<TaskOrder, Refused> {
        let field = |word: &str| {
            let (name, direction) = match word.strip_prefix('-') {
                Some(name) => (name, Direction::Down),
                None => (word, Direction::Up),
            };
            let found = SORT_FIELDS.iter().find(|(known, _)| *known == name);
            found.map(|(_, field)| (*field, direction)).ok_or_else(|| {
                let known = SORT_FIELDS.map(|(known, _)| known).join(", ");
                let shown = text::excerpt(name, 40);
                Refused::field("sort", "UNKNOWN_WORD", format!("`{shown}` is not one of {known}"))
            })
        };
        let words: Vec<&str> = order.split(',').map(str::trim).collect();
        if words.len() > SORT_FIELDS.len() {
            return Err(Refused::field("sort", "TOO_MANY", "a field decides once"));
        }
        words.into_iter().map(field).collect::<Result<_, _>>().map(TaskOrder)
    }
}

impl TaskOrder {
    pub(crate) fn compare(&self, left: &Row, right: &Row) -> Ordering {
        let mut decided = self.0.iter().map(|(field, direction)| field.compare(left, right, *direction));
        decided.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

impl SortField {
    fn compare(self, left: &Row, right: &Row, direction: Direction) -> Ordering {
        let (left, right, states) = (&left.task, &right.task, (left.state, right.state));
        let (l, r) = (&left.definition, &right.definition);
        let order = match self {
            SortField::NextFireTime => return by_time(left.next_fire_time, right.next_fire_time, direction),
            SortField::PrevFireTime => return by_time(left.prev_fire_time, right.prev_fire_time, direction),
            SortField::Code => left.code.cmp(&right.code),
            SortField::Name => l.name.cmp(&r.name),
            SortField::Kind => l.kind.as_str().cmp(r.kind.as_str()),
            SortField::Status => states.0.as_str().cmp(states.1.as_str()),
            SortField::Pool => l.pool.cmp(&r.pool),
            SortField::Priority => l.priority.cmp(&r.priority),
            SortField::Owner => l.owner.cmp(&r.owner),
            SortField::CreateTime => left.create_time.cmp(&right.create_time),
            SortField::UpdateTime => left.update_time.cmp(&right.update_time),
        };
        direction.turned(order)
    }
}

impl Direction {
    fn turned(self, order: Ordering) -> Ordering {
        match self {
            Direction::Up => order,
            Direction::Down => order.reverse(),
        }
    }
}

/// What has no time comes last in both directions: nobody looks for it at the top.
fn by_time(left: Option<Timestamp>, right: Option<Timestamp>, direction: Direction) -> Ordering {
    match (left, right) {
        (Some(left), Some(right)) => direction.turned(left.cmp(&right)),
        (left, right) => right.is_some().cmp(&left.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_never_overflow() {
        assert_eq!(window(1, 50), (0, 50));
        assert_eq!(window(3, 20), (40, 20));
        assert!(window(u32::MAX, 200).0 > 1_000_000);
    }

    #[test]
    fn orders_are_a_closed_set() {
        let check = |order: &str, good: bool| assert_eq!(order.parse::<TaskOrder>().is_ok(), good, "{order}");
        check("code", true);
        check("-createTime,name", true);
        check("", false);
        check("name;drop table", false);
        check("--name", false);
        check(&"name,".repeat(1_000), false);
    }
}
