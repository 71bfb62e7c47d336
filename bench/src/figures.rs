//! What a run has measured: numbers with names. A name ends with its unit.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Figures(BTreeMap<String, f64>);

impl Figures {
    pub(crate) fn set(&mut self, name: &str, value: f64) {
        // Enough digits for every unit; more would only claim a precision that a run does not have.
        self.0.insert(name.to_owned(), (value * 10_000.0).round() / 10_000.0);
    }

    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    pub(crate) fn add(&mut self, other: Figures) {
        self.0.extend(other.0);
    }
}
