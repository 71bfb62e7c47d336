//! From text to [`Syntax`]: how many fields there are decides the dialect, and nothing is ever converted.

use super::Dialect;
use super::error::{Class, CronError, Field};
use super::item::Reader;
use super::syntax::{Item, Syntax};
use crate::limits::CRON_CHARS_MAX;
use crate::text::excerpt;

const CRONTAB: &[Field] = &[Field::Minute, Field::Hour, Field::DayOfMonth, Field::Month, Field::DayOfWeek];
const QUARTZ: &[Field] =
    &[Field::Second, Field::Minute, Field::Hour, Field::DayOfMonth, Field::Month, Field::DayOfWeek, Field::Year];
/// What each stands for, in crontab.
const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

pub(super) fn read(text: &str) -> Result<Syntax, CronError> {
    let blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    let body = text.trim_matches(blank);
    if body.is_empty() {
        return Err(CronError::new(Class::Empty, 1, "the expression is empty").hint("every day at two is 0 2 * * *"));
    }
    if text.chars().nth(CRON_CHARS_MAX).is_some() {
        let detail = format!("the expression has more than {CRON_CHARS_MAX} characters");
        return Err(
            CronError::new(Class::TooLong, CRON_CHARS_MAX + 1, detail).hint("use ranges and steps, or two tasks")
        );
    }
    // All of what is cut off is one byte per character.
    let begin = text.len() - text.trim_start_matches(blank).len();
    plain_ascii(body, begin)?;
    if body.starts_with('@') {
        return by_macro(body, begin);
    }
    let words = words(body, begin);
    let fields = match words.len() {
        5 => CRONTAB,
        6 => &QUARTZ[..6],
        7 => QUARTZ,
        count => return Err(wrong_count(count, &words, text)),
    };
    let dialect = if words.len() == 5 { Dialect::Crontab } else { Dialect::Quartz };
    let mut syntax = Syntax { dialect, by_macro: None, fields: Vec::with_capacity(words.len()) };
    for (field, (word, at)) in fields.iter().zip(&words) {
        syntax.fields.push((*field, Reader::new(*field, dialect).field(word, *at).map_err(|error| error.of(*field))?));
    }
    if dialect == Dialect::Quartz {
        one_day_field(&mut syntax, &words)?;
    }
    Ok(syntax)
}

fn plain_ascii(body: &str, begin: usize) -> Result<(), CronError> {
    let plain = |c: char| c == '\t' || (' '..='~').contains(&c);
    let Some((at, c)) = body.chars().enumerate().find(|(_, c)| !plain(*c)) else { return Ok(()) };
    let shown = if c.is_control() || c.is_whitespace() { c.escape_unicode().to_string() } else { c.to_string() };
    let error =
        CronError::new(Class::Charset, begin + at + 1, format!("`{shown}` is not a character of cron expressions"));
    Err(error.hint(match c {
        // The wide forms lie in the order of ASCII.
        '！'..='～' => {
            let narrow = u32::from(c) - 0xfee0;
            format!("it is the full-width form: write {}", char::from_u32(narrow).unwrap_or('*'))
        }
        '\n' | '\r' => "an expression is one line".to_owned(),
        c if c.is_whitespace() => "separate fields with plain blanks".to_owned(),
        _ => "digits, names such as MON, and * , - / ? # L W are taken".to_owned(),
    }))
}

fn by_macro(body: &str, begin: usize) -> Result<Syntax, CronError> {
    let found = MACROS.iter().find(|(name, _)| name.eq_ignore_ascii_case(body));
    let Some((name, fields)) = found else {
        let error = CronError::new(Class::Macro, begin + 1, format!("`{}` is not a macro", excerpt(body, 40)));
        let every = body.get(..6).is_some_and(|head| head.eq_ignore_ascii_case("@every"));
        return Err(error.hint(if every {
            "a fixed interval is not a cron expression: every ten minutes is */10 * * * *".to_owned()
        } else {
            format!("known are {}", MACROS.map(|(name, _)| name).join(", "))
        }));
    };
    Ok(Syntax { by_macro: Some(name), ..read(fields)? })
}

/// The words with their columns, counted from 1.
fn words(body: &str, begin: usize) -> Vec<(&str, usize)> {
    let start = body.as_ptr() as usize;
    let words = body.split([' ', '\t']).filter(|word| !word.is_empty());
    words.map(|word| (word, begin + (word.as_ptr() as usize - start) + 1)).collect()
}

fn wrong_count(count: usize, words: &[(&str, usize)], text: &str) -> CronError {
    let position = words.get(7).map_or_else(|| text.trim_end().len().max(1), |(_, at)| *at);
    let fields = if count == 1 { "field" } else { "fields" };
    CronError::new(Class::FieldCount, position, format!("there are {count} {fields}, wanted are 5, 6 or 7"))
        .hint("5: minute hour day-of-month month day-of-week; 6: a second before them; 7: a year behind them")
}

/// Quartz knows one day field at a time: the other one is made `?`, where that can only mean what was meant.
fn one_day_field(syntax: &mut Syntax, words: &[(&str, usize)]) -> Result<(), CronError> {
    const OF_MONTH: usize = 3;
    const OF_WEEK: usize = 5;
    let is = |at: usize, wanted: Item| syntax.fields[at].1 == [wanted];
    let star = Item::Star { step: None };
    let refuse = |at: usize, detail: &str, hint: &str| {
        let field = if at == OF_MONTH { Field::DayOfMonth } else { Field::DayOfWeek };
        Err(CronError::new(Class::DomDow, words[at].1, detail).of(field).hint(hint))
    };
    match (is(OF_MONTH, Item::Question), is(OF_WEEK, Item::Question)) {
        (true, true) => refuse(OF_WEEK, "both day fields are ?", "write * in one of them: every day is 0 0 2 * * ?"),
        (true, false) | (false, true) => Ok(()),
        (false, false) if is(OF_WEEK, star) => {
            syntax.fields[OF_WEEK].1 = vec![Item::Question];
            Ok(())
        }
        (false, false) if !is(OF_MONTH, star) => refuse(
            OF_WEEK,
            "both day fields are restricted",
            "Quartz fires by day of month or by day of week: make one of them ?, or make two tasks",
        ),
        (false, false) => {
            let items = &syntax.fields[OF_WEEK].1;
            if items.iter().any(|item| item.numbers_weekdays() || *item == Item::Saturday) {
                let hint = "1-5 is Monday to Friday for some and Sunday to Thursday for Quartz: write names \
                            (MON-FRI), or make the day of month ?";
                return refuse(OF_WEEK, "a weekday is given as a number, without ? as the day of month", hint);
            }
            syntax.fields[OF_MONTH].1 = vec![Item::Question];
            Ok(())
        }
    }
}
