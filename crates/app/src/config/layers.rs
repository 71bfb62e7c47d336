//! Where values come from: the embedded file < the configuration file < the environment < flags.
//!
//! The embedded file is also the list of all keys: what is not in it does not exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use mainspring_store::without_secrets;
use toml::{Table, Value};

/// The embedded manual.
pub(crate) const DEFAULTS: &str = include_str!("default.toml");
const ENV_PREFIX: &str = "MAINSPRING_";
/// A word that differs in more letters was not meant.
const NEAR_ENOUGH: f64 = 0.7;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    File(String),
    Environment(String),
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File(path) => f.write_str(path),
            Origin::Environment(name) => write!(f, "environment {name}"),
            Origin::Flag(flag) => f.write_str(flag),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Layered {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// Every key with the value that won. `complaints` are about keys and files; those about values come later.
#[derive(Debug)]
pub(crate) struct Layers {
    pub(crate) values: BTreeMap<String, Layered>,
    pub(crate) complaints: Vec<String>,
    /// What `tasks.files` names.
    pub(crate) task_files: Vec<TaskFile>,
}

/// A file of tasks, read by whoever made the layers.
#[derive(Debug)]
pub(crate) struct TaskFile {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// What a layer is made of, read by the caller: nothing in here looks at the process.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// Its name and its text.
    pub(crate) file: Option<(String, String)>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) flags: Vec<(&'static str, &'static str, Value)>,
}

impl Layers {
    pub(crate) fn of(sources: Sources) -> Layers {
        let mut layers = Layers { values: BTreeMap::new(), complaints: Vec::new(), task_files: Vec::new() };
        let manual: Table = toml::from_str(DEFAULTS).expect("the embedded file is checked by a test");
        layers.flatten(String::new(), manual, &Origin::Default);
        for name in TABLE_LISTS {
            layers.set(name.to_owned(), Value::Array(Vec::new()), Origin::Default);
        }
        // A table of this name cannot stand in the manual beside the list that may take its place.
        layers.set(TASK_FILES.to_owned(), Value::Array(Vec::new()), Origin::Default);
        let known: BTreeSet<String> = layers.values.keys().cloned().collect();
        if let Some((name, text)) = sources.file {
            match toml::from_str::<Table>(&text) {
                Ok(table) => layers.flatten(String::new(), table, &Origin::File(name)),
                Err(error) => layers.complaints.push(format!("{name}: {}", harmless(error.to_string().trim_end()))),
            }
        }
        for (variable, text) in sources.environment {
            layers.add_variable(&variable, &text, &known);
        }
        for (flag, key, value) in sources.flags {
            layers.set(key.to_owned(), value, Origin::Flag(flag));
        }
        layers.drop_unknown(&known);
        layers
    }

    /// What a flag adds to what the other layers say.
    pub(crate) fn append_to_list(&mut self, key: &str, more: &[&str], flag: &'static str) {
        if let Some(Layered { value: Value::Array(list), origin }) = self.values.get_mut(key) {
            list.extend(more.iter().map(|text| Value::from(*text)));
            *origin = Origin::Flag(flag);
        }
    }

    fn set(&mut self, key: String, value: Value, origin: Origin) {
        self.values.insert(key, Layered { value, origin });
    }

    fn flatten(&mut self, prefix: String, table: Table, origin: &Origin) {
        for (name, value) in table {
            let key = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
            match value {
                Value::Table(inner) => self.flatten(key, inner, origin),
                value => self.set(key, value, origin.clone()),
            }
        }
    }

    fn add_variable(&mut self, variable: &str, text: &str, known: &BTreeSet<String>) {
        let Some(rest) = variable.strip_prefix(ENV_PREFIX) else { return };
        let key = rest.replace("__", ".").to_lowercase();
        // There are others of this name: the client's, those of commands, and a cluster sets MAINSPRING_PORT for a
        // service that is called so. Without the double underscore it is a key only when it is one written wrongly.
        let is_almost = |known: &String| known.replace('.', "_") == key;
        if !key.contains('.') && !known.iter().any(is_almost) {
            return;
        }
        let origin = Origin::Environment(variable.to_owned());
        let Some(default) = self.values.get(&key).filter(|_| known.contains(&key)) else {
            let near = nearest(&key, known).map(|key| format!("; did you mean {}?", variable_of(key)));
            self.complaints.push(format!("{origin}: there is no key `{key}`{}", near.unwrap_or_default()));
            return;
        };
        if TABLE_LISTS.contains(&key.as_str()) {
            self.complaints.push(format!("{origin}: `{key}` is a list of tables, which only a file can hold"));
            return;
        }
        // The kind of the default decides how text is read; a wrong one is the complaint of whoever uses the value.
        let value = match &default.value {
            Value::Array(_) => list_of(text),
            Value::Integer(_) => text.trim().parse().map_or_else(|_| text.into(), Value::Integer),
            Value::Boolean(_) => text.trim().parse().map_or_else(|_| text.into(), Value::Boolean),
            _ => text.into(),
        };
        self.set(key, value, origin);
    }

    fn drop_unknown(&mut self, known: &BTreeSet<String>) {
        let unknown: Vec<String> = self.values.keys().filter(|key| !known.contains(*key)).cloned().collect();
        for key in unknown {
            let Some(layered) = self.values.remove(&key) else { continue };
            let near = nearest(&key, known).map(|near| format!("; did you mean `{near}`?"));
            let near = near.unwrap_or_else(|| "; `mainspring config explain` lists all keys".to_owned());
            self.complaints.push(format!("{}: there is no key `{key}`{near}", layered.origin));
        }
    }
}

/// Keys whose values are lists of tables.
pub(crate) const TABLE_LISTS: [&str; 3] = ["commands", "tasks", "pools"];

pub(crate) const TASK_FILES: &str = "tasks.files";

/// `["a", "b"]` as in the file, or `a,b`.
fn list_of(text: &str) -> Value {
    let as_toml = toml::from_str::<Table>(&format!("list = {text}")).ok().and_then(|mut table| table.remove("list"));
    match as_toml {
        Some(list @ Value::Array(_)) => list,
        _ => text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(Value::from).collect::<Vec<_>>().into(),
    }
}

/// A complaint shows the line that it is about, and in that can stand the database's password.
fn harmless(complaint: &str) -> String {
    let shown = |piece: &str| if piece.contains("://") { without_secrets(piece) } else { piece.to_owned() };
    let pieces = complaint.split_inclusive(['"', '\'', '\n']).map(|piece| {
        let bare = piece.trim_end_matches(['"', '\'', '\n']);
        format!("{}{}", shown(bare), &piece[bare.len()..])
    });
    pieces.collect()
}

fn variable_of(key: &str) -> String {
    format!("{ENV_PREFIX}{}", key.replace('.', "__").to_uppercase())
}

/// The known word that was most likely meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a String>) -> Option<&'a str> {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let likeness = |key: &str| {
        let whole = strsim::jaro_winkler(word, key);
        // The right word in the wrong table.
        if last(key) == last(word) { whole.max(0.9) } else { whole }
    };
    let scored = known.into_iter().map(|key| (likeness(key), key.as_str()));
    scored.filter(|(score, _)| *score >= NEAR_ENOUGH).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, key)| key)
}
