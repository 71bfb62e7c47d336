//! Reading values of a kind, with every complaint noted and none of them final.

use std::fmt::Display;
use std::str::FromStr;

use mainspring_model::Refused;
use toml::{Table, Value};

use super::layers::{Layers, nearest};

/// One table of values: the whole configuration, or one entry of a list.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    /// What complaints call it: `mainspring.toml: commands[0].`
    values: Values<'a>,
    known: Vec<String>,
    complaints: &'a mut Vec<String>,
}

#[derive(Debug)]
enum Values<'a> {
    Layers(&'a Layers),
    Entry { place: String, table: Table },
}

impl<'a> Reader<'a> {
    pub(super) fn of_layers(layers: &'a Layers, complaints: &'a mut Vec<String>) -> Reader<'a> {
        Reader { values: Values::Layers(layers), known: Vec::new(), complaints }
    }

    fn find(&mut self, key: &str) -> Option<(Value, String)> {
        match &mut self.values {
            Values::Layers(layers) => {
                let layered = layers.values.get(key)?;
                Some((layered.value.clone(), format!("{}: {key}", layered.origin)))
            }
            Values::Entry { place, table } => {
                self.known.push(key.to_owned());
                Some((table.remove(key)?, format!("{place}.{key}")))
            }
        }
    }

    fn complain(&mut self, place: &str, what: impl Display) {
        self.complaints.push(format!("{place}: {what}"));
    }

    /// A value that the rules of the product refuse, said for this place.
    pub(super) fn refuse(&mut self, place: &str, refused: &Refused) {
        let place = match &self.values {
            Values::Layers(layers) => layers
                .values
                .get(place)
                .map_or_else(|| place.to_owned(), |layered| format!("{}: {place}", layered.origin)),
            Values::Entry { place, .. } => place.clone(),
        };
        if refused.errors.is_empty() {
            self.complain(&place, refused);
        }
        let asides = asides(refused.cron.map(|place| place.position), refused.hint.as_deref());
        for error in &refused.errors {
            self.complain(&place, format!("{}{asides}", error.detail));
        }
    }

    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        match self.find(key)? {
            (Value::String(text), _) => Some(text),
            (other, place) => {
                self.complain(&place, format!("expects text, not {}", kind(&other)));
                None
            }
        }
    }

    /// Text with a meaning of its own.
    pub(super) fn parsed<T: FromStr<Err: Display>>(&mut self, key: &str) -> Option<T> {
        let (value, place) = self.find(key)?;
        let Value::String(text) = value else {
            self.complain(&place, format!("expects text, not {}", kind(&value)));
            return None;
        };
        text.parse().map_err(|error| self.complain(&place, error)).ok()
    }

    pub(super) fn flag(&mut self, key: &str) -> Option<bool> {
        let (value, place) = self.find(key)?;
        if value.as_bool().is_none() {
            self.complain(&place, format!("expects true or false, not {}", kind(&value)));
        }
        value.as_bool()
    }

    pub(super) fn count(&mut self, key: &str, low: u32, high: u32) -> Option<u32> {
        let (value, place) = self.find(key)?;
        let count = value.as_integer().and_then(|number| u32::try_from(number).ok());
        let count = count.filter(|count| (low..=high).contains(count));
        if count.is_none() {
            self.complain(&place, format!("expects a whole number from {low} to {high}, not {}", kind(&value)));
        }
        count
    }

    pub(super) fn list(&mut self, key: &str) -> Option<Vec<String>> {
        let (value, place) = self.find(key)?;
        let texts = value.as_array().map(|all| all.iter().map(|one| one.as_str().map(str::to_owned)).collect());
        match texts {
            Some(Some(texts)) => Some(texts),
            _ => {
                self.complain(&place, format!("expects a list of texts, not {}", kind(&value)));
                None
            }
        }
    }

    pub(super) fn required<T>(&mut self, key: &str, value: Option<T>) -> Option<T> {
        if let Values::Entry { place, .. } = &self.values
            && value.is_none()
        {
            // A wrong value has its complaint already; two of them would only be longer.
            let path = format!("{place}.{key}");
            if !self.complaints.iter().any(|complaint| complaint.starts_with(&path)) {
                self.complain(&path, "is missing");
            }
        }
        value
    }

    /// Reads every entry of a list of tables; what `read` did not ask for is an unknown key.
    pub(super) fn entries<T>(&mut self, key: &str, read: impl Fn(&mut Reader<'_>) -> Option<T>) -> Vec<T> {
        let Some((value, place)) = self.find(key) else { return Vec::new() };
        let Value::Array(entries) = value else {
            self.complain(&place, format!("expects tables: [[{key}]]"));
            return Vec::new();
        };
        let mut all = Vec::new();
        for (at, entry) in entries.into_iter().enumerate() {
            let place = format!("{place}[{at}]");
            let Value::Table(table) = entry else {
                self.complain(&place, format!("expects a table: [[{key}]]"));
                continue;
            };
            let values = Values::Entry { place, table };
            let mut reader = Reader { values, known: Vec::new(), complaints: &mut *self.complaints };
            all.extend(read(&mut reader));
            reader.complain_of_unread();
        }
        all
    }

    fn complain_of_unread(mut self) {
        let Values::Entry { place, table } = &self.values else { return };
        let unread: Vec<String> = table.keys().cloned().collect();
        let place = place.clone();
        for key in unread {
            let hint = match nearest(&key, &self.known) {
                Some(near) => format!("; did you mean `{near}`?"),
                None => format!("; it has {}", self.known.join(", ")),
            };
            self.complain(&place, format!("there is no key `{key}`{hint}"));
        }
    }
}

/// What stands behind a complaint: the column in an expression, and what to do next.
pub(super) fn asides(column: Option<usize>, hint: Option<&str>) -> String {
    let column = column.map(|column| format!(" at column {column}"));
    let hint = hint.map(|hint| format!("; {hint}"));
    [column, hint].into_iter().flatten().collect()
}

fn kind(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{}`", mainspring_model::text::excerpt(text, 40)),
        Value::Integer(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        other => format!("a value of type {}", other.type_str()),
    }
}
