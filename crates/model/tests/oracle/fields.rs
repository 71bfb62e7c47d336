//! Plain fields: a text, and the numbers that it means.

use std::collections::BTreeSet;

use fastrand::Rng;

const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
pub(crate) const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) text: String,
    pub(crate) set: BTreeSet<i32>,
    /// A star or a step is in it.
    pub(crate) counts: bool,
}

/// What a field takes.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) min: i32,
    pub(crate) max: i32,
    /// Where `*/k` ends.
    pub(crate) star_max: i32,
    pub(crate) step_max: i32,
    pub(crate) wraps: bool,
    pub(crate) bare_slash: bool,
    pub(crate) names: Vec<(i32, &'static str)>,
}

impl Shape {
    fn plain(min: i32, max: i32, quartz: bool) -> Shape {
        let step_max = max.min(59);
        Shape { min, max, star_max: max, step_max, wraps: quartz, bare_slash: quartz, names: Vec::new() }
    }

    pub(crate) fn of_60(quartz: bool) -> Shape {
        Shape::plain(0, 59, quartz)
    }

    pub(crate) fn of_24(quartz: bool) -> Shape {
        Shape::plain(0, 23, quartz)
    }

    pub(crate) fn days(quartz: bool) -> Shape {
        Shape::plain(1, 31, quartz)
    }

    pub(crate) fn months(quartz: bool) -> Shape {
        Shape { names: (1..).zip(MONTHS).collect(), ..Shape::plain(1, 12, quartz) }
    }

    /// Sunday is 0 in crontab and 1 in Quartz; crontab's 7 is left to its own forms.
    pub(crate) fn week(quartz: bool) -> Shape {
        let first = i32::from(quartz);
        let names = (first..).zip(WEEKDAYS).collect();
        Shape { names, step_max: 7, ..Shape::plain(first, first + 6, quartz) }
    }

    pub(crate) fn years() -> Shape {
        Shape { star_max: 2199, step_max: 129, wraps: false, ..Shape::plain(1970, 2099, true) }
    }

    fn name(&self, rng: &mut Rng, number: i32) -> String {
        let named = self.names.iter().find(|(known, _)| *known == number).filter(|_| rng.bool());
        named.map_or_else(
            || if rng.u8(..10) == 0 { format!("{number:02}") } else { number.to_string() },
            |(_, name)| (*name).to_owned(),
        )
    }
}

impl Written {
    pub(crate) fn star(min: i32, max: i32) -> Written {
        Written { text: "*".to_owned(), set: (min..=max).collect(), counts: true }
    }

    pub(crate) fn one(number: i32) -> Written {
        Written { text: number.to_string(), set: [number].into(), counts: false }
    }
}

/// One to three items; `near` is drawn now and then.
pub(crate) fn written(rng: &mut Rng, shape: &Shape, near: Option<i32>) -> Written {
    let mut all = item(rng, shape, near);
    for _ in 0..[0, 0, 0, 1, 2][rng.usize(..5)] {
        let more = item(rng, shape, near);
        all.text = format!("{},{}", all.text, more.text);
        all.set.extend(more.set);
        all.counts |= more.counts;
    }
    all
}

fn item(rng: &mut Rng, shape: &Shape, near: Option<i32>) -> Written {
    let number = |rng: &mut Rng| match near {
        Some(near) if rng.bool() => near,
        _ => rng.i32(shape.min..=shape.max),
    };
    let (first, last) = (number(rng), number(rng));
    let step = if rng.bool() { rng.i32(1..=shape.step_max) } else { rng.i32(1..=shape.step_max.min(6)) };
    let (first_text, last_text) = (shape.name(rng, first), shape.name(rng, last));
    let (text, set, counts) = match rng.u8(..7) {
        0 => ("*".to_owned(), walk(shape, shape.min, shape.star_max, 1), true),
        1 => {
            let star = if shape.bare_slash && rng.bool() { "" } else { "*" };
            (format!("{star}/{step}"), walk(shape, shape.min, shape.star_max, step), true)
        }
        2 => (format!("{first_text}/{step}"), walk(shape, first, shape.max, step), true),
        3 if first <= last || shape.wraps => (format!("{first_text}-{last_text}"), walk(shape, first, last, 1), false),
        4 if first <= last || shape.wraps => {
            (format!("{first_text}-{last_text}/{step}"), walk(shape, first, last, step), true)
        }
        _ => (first_text, [first].into(), false),
    };
    Written { text, set, counts }
}

/// Step by step round the field, from the first to the last.
fn walk(shape: &Shape, first: i32, last: i32, step: i32) -> BTreeSet<i32> {
    let mut set = BTreeSet::new();
    let (mut number, mut since) = (first, 0);
    loop {
        if since % step == 0 {
            set.insert(number);
        }
        if number == last {
            return set;
        }
        number = if number == shape.star_max { shape.min } else { number + 1 };
        since += 1;
    }
}
