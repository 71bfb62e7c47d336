//! The items of one field: numbers, names, ranges, steps, and the special days of the two day fields.

use super::Dialect;
use super::error::{Class, CronError, Field};
use super::syntax::{Item, Numbers, Value, WEEKDAYS};
use crate::text::excerpt;

/// Reads one field.
pub(super) struct Reader {
    field: Field,
    dialect: Dialect,
    numbers: Numbers,
}

type Read<T> = Result<T, CronError>;

impl Reader {
    pub(super) fn new(field: Field, dialect: Dialect) -> Reader {
        Reader { field, dialect, numbers: Numbers::of(field, dialect) }
    }

    /// `at` is the column of the word's first character, here and below.
    pub(super) fn field(&self, word: &str, at: usize) -> Read<Vec<Item>> {
        let day = matches!(self.field, Field::DayOfMonth | Field::DayOfWeek);
        if word == "?" && day && self.dialect == Dialect::Quartz {
            return Ok(vec![Item::Question]);
        }
        let mut items = Vec::new();
        let mut column = at;
        for text in word.split(',') {
            items.push(self.item(text, column)?);
            column += text.len() + 1;
        }
        Ok(items)
    }

    fn item(&self, text: &str, at: usize) -> Read<Item> {
        if text.is_empty() {
            let error = CronError::new(Class::Syntax, at, format!("the {} list has an empty item", self.field.words()));
            return Err(error.hint("remove the comma"));
        }
        if let Some(behind) = text.find('?') {
            return Err(self.question(at + behind));
        }
        match self.field {
            Field::DayOfMonth if is_special(text, only_l_and_w) => self.special_day(text, at),
            Field::DayOfWeek if is_special(text, special_weekday) => self.special_weekday(text, at),
            _ => self.plain(text, at),
        }
    }

    fn question(&self, at: usize) -> CronError {
        let day = matches!(self.field, Field::DayOfMonth | Field::DayOfWeek);
        match (self.dialect, day) {
            (Dialect::Crontab, _) => {
                CronError::new(Class::Question, at, "? has no meaning in an expression of 5 fields")
                    .hint("write *; or is this a Quartz expression that lost its seconds?")
            }
            (Dialect::Quartz, true) => CronError::new(Class::Question, at, "? must stand alone in its field"),
            (Dialect::Quartz, false) => {
                CronError::new(Class::Question, at, "? is only for the day of month and the day of week")
                    .hint("write *")
            }
        }
    }

    /// `*`, `n`, `a-b`, each with a step.
    fn plain(&self, text: &str, at: usize) -> Read<Item> {
        let (base, step) = match text.split_once('/') {
            None => (text, None),
            Some((base, step)) => (base, Some((step, at + base.len() + 1))),
        };
        let base_item = self.base(base, at)?;
        let Some((step, step_at)) = step else { return Ok(base_item) };
        let step = self.step(step, step_at)?;
        Ok(match base_item {
            Item::One(first) => Item::From { first, step },
            Item::Range { first, last, .. } => Item::Range { first, last, step: Some(step) },
            _ => Item::Star { step: Some(step) },
        })
    }

    fn base(&self, base: &str, at: usize) -> Read<Item> {
        if base.is_empty() {
            // Behind it is the slash.
            return match self.dialect {
                Dialect::Quartz => Ok(Item::Star { step: None }),
                Dialect::Crontab => {
                    Err(self.syntax(at, "a step needs something before it").hint("write */ and the step"))
                }
            };
        }
        if base == "*" {
            return Ok(Item::Star { step: None });
        }
        let Some((first, last)) = base.split_once('-') else { return self.value(base, at).map(Item::One) };
        let last_at = at + first.len() + 1;
        if first.is_empty() {
            return Err(self.syntax(at, "a range has no beginning, and numbers have no sign"));
        }
        let first = self.value(first, at)?;
        if last.is_empty() {
            return Err(self.syntax(last_at, "a range has no end"));
        }
        if let Some(behind) = last.find('-') {
            return Err(self.syntax(last_at + behind, "a range has a beginning and an end, no more"));
        }
        let last = self.value(last, last_at)?;
        self.ordered(first, last, at)?;
        Ok(Item::Range { first, last, step: None })
    }

    fn ordered(&self, first: Value, last: Value, at: usize) -> Read<()> {
        let week = self.field == Field::DayOfWeek;
        let wraps = match self.dialect {
            Dialect::Quartz => self.field != Field::Year,
            Dialect::Crontab => week && last.number == 0, // Sunday ends the week, too
        };
        if first.number <= last.number || wraps {
            return Ok(());
        }
        let detail = format!("the range {first}-{last} of the {} runs backwards", self.field.words());
        let (min, max) = (self.numbers.min, self.numbers.max);
        Err(CronError::new(Class::Order, at, detail).hint(if self.field == Field::Year {
            format!("write {last}-{first}")
        } else {
            format!("write two ranges: {first}-{max},{min}-{last}")
        }))
    }

    fn value(&self, text: &str, at: usize) -> Read<Value> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        if digits == text.len() {
            return self.number(text, at);
        }
        if digits == 0 && text.bytes().all(|b| b.is_ascii_alphabetic()) {
            return self.name(text, at);
        }
        let letters = if digits == 0 { text.bytes().take_while(u8::is_ascii_alphabetic).count() } else { 0 };
        let wrong = digits + letters;
        let shown = &text[wrong..=wrong];
        Err(self.syntax(at + wrong, format!("`{shown}` has no meaning here")))
    }

    fn number(&self, text: &str, at: usize) -> Read<Value> {
        let Numbers { min, written_max, .. } = self.numbers;
        let number = text.parse().unwrap_or(u32::MAX);
        if (min..=written_max).contains(&number) {
            return Ok(Value { number, name: None });
        }
        let class = if self.field == Field::Year { Class::Year } else { Class::Range };
        let shown = excerpt(text, 20);
        let detail = format!("{shown} is out of range: the {} is {min} to {written_max}", self.field.words());
        let error = CronError::new(class, at, detail);
        Err(match (self.field, self.dialect) {
            (Field::DayOfWeek, Dialect::Quartz) => {
                error.hint("with 6 or 7 fields Sunday is 1 and Saturday is 7; names such as SUN are safer")
            }
            (Field::DayOfWeek, Dialect::Crontab) => error.hint("Sunday is 0 or 7, Saturday is 6"),
            _ => error,
        })
    }

    fn name(&self, text: &str, at: usize) -> Read<Value> {
        let found = self.numbers.names.iter().zip(self.numbers.first_name..);
        for (name, number) in found {
            if name.eq_ignore_ascii_case(text) {
                return Ok(Value { number, name: Some(name) });
            }
        }
        if only_l_and_w(text) {
            return Err(self.syntax(at, format!("`{text}` has no meaning in the {}", self.field.words())));
        }
        let shown = excerpt(text, 20);
        let error = CronError::new(Class::Name, at, format!("`{shown}` is not a name of the {}", self.field.words()));
        Err(match self.field {
            Field::Month => error.hint("the names are JAN to DEC, three letters each"),
            Field::DayOfWeek => error.hint("the names are SUN to SAT, three letters each"),
            _ => error.hint("this field takes numbers"),
        })
    }

    fn step(&self, text: &str, at: usize) -> Read<u32> {
        if text.is_empty() {
            return Err(self.syntax(at, "a step is missing behind the slash"));
        }
        if let Some(wrong) = text.find(|c: char| !c.is_ascii_digit()) {
            return Err(self.syntax(at + wrong, "a step is a number"));
        }
        let step = text.parse().unwrap_or(u32::MAX);
        let max = self.numbers.step_max;
        if (1..=max).contains(&step) {
            return Ok(step);
        }
        let shown = excerpt(text, 20);
        let words = self.field.words();
        let error = CronError::new(
            Class::Step,
            at,
            format!("a step of {shown} is out of range: the {words} takes steps of 1 to {max}"),
        );
        Err(error.hint("a step counts within its field and begins anew with the next one"))
    }

    /// `L`, `L-n`, `LW`, `L-nW`, `nW`.
    fn special_day(&self, text: &str, at: usize) -> Read<Item> {
        let upper = text.to_ascii_uppercase();
        let within = |digits: &str, max: u32| number_within(digits, 1, max);
        let item = match (upper.strip_prefix('L'), upper.strip_suffix('W')) {
            (Some(""), _) => Some(Item::BeforeLast(0)),
            (Some("W"), _) => Some(Item::NearBeforeLast(0)),
            (Some(rest), working) => rest.strip_prefix('-').and_then(|back| match working {
                None => within(back, 30).map(Item::BeforeLast),
                Some(_) => within(&back[..back.len() - 1], 30).map(Item::NearBeforeLast),
            }),
            (None, Some(day)) => within(day, 31).map(Item::Near),
            (None, None) => None,
        };
        let hint = "L is the last day, L-3 the third before it, 15W the working day nearest to the 15th, LW the last \
                    working day; each stands alone or in a list";
        item.ok_or_else(|| self.special(text, at, hint))
    }

    /// `L`, `nL`, `n#k`.
    fn special_weekday(&self, text: &str, at: usize) -> Read<Item> {
        let hint = "5L is the last one of a weekday in its month, 5#2 the second; names do as well (FRIL, FRI#2); each \
                    stands alone or in a list";
        if text.eq_ignore_ascii_case("L") {
            return match self.dialect {
                Dialect::Quartz => Ok(Item::Saturday),
                Dialect::Crontab => Err(self.special(text, at, "write SAT for Saturdays, FRIL for the last Friday")),
            };
        }
        if let Some((day, nth)) = text.split_once('#') {
            if day.is_empty() || !day.bytes().all(|b| b.is_ascii_alphanumeric()) || day.ends_with(['L', 'l']) {
                return Err(self.special(text, at, hint));
            }
            let day_value = self.value(day, at)?;
            let nth = number_within(nth, 1, 5).ok_or_else(|| {
                let behind = at + day.len() + 1;
                self.special(text, behind, "behind # stands which one in the month it is: 1 to 5")
            })?;
            return Ok(Item::Nth(day_value, nth));
        }
        let day = text.strip_suffix(['L', 'l']).and_then(|day| self.value(day, at).ok());
        day.map(Item::LastWeekday).ok_or_else(|| self.special(text, at, hint))
    }

    fn syntax(&self, at: usize, detail: impl Into<String>) -> CronError {
        let mut detail = detail.into();
        if !detail.contains(self.field.words()) {
            detail = format!("{}: {detail}", self.field.words());
        }
        CronError::new(Class::Syntax, at, detail)
    }

    fn special(&self, text: &str, at: usize, hint: &str) -> CronError {
        let shown = excerpt(text, 20);
        let detail = format!("`{shown}` is not a special {} that is known", self.field.words());
        CronError::new(Class::Special, at, detail).hint(hint)
    }
}

fn number_within(digits: &str, min: u32, max: u32) -> Option<u32> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|number| (min..=max).contains(number))
}

fn is_special(text: &str, letters_mean_it: impl Fn(&str) -> bool) -> bool {
    let letters = text.split(|c: char| !c.is_ascii_alphabetic());
    text.contains('#') || letters.filter(|run| !run.is_empty()).any(letters_mean_it)
}

fn only_l_and_w(letters: &str) -> bool {
    letters.bytes().all(|b| matches!(b, b'L' | b'l' | b'W' | b'w'))
}

fn special_weekday(letters: &str) -> bool {
    let name =
        |text: Option<&str>| text.is_some_and(|text| WEEKDAYS.iter().any(|name| name.eq_ignore_ascii_case(text)));
    only_l_and_w(letters) || name(letters.strip_suffix(['L', 'l'])) || name(letters.strip_prefix(['L', 'l']))
}
