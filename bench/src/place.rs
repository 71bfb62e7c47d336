//! Which database a run is on.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::args::StoreKind;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) store: StoreKind,
    pub(crate) url: String,
    /// Of the database server, whose work is part of ours.
    pub(crate) server_pid: Option<u32>,
}

pub(crate) fn sqlite_file(dir: &Path) -> PathBuf {
    dir.join("jobs.db")
}

impl Place {
    pub(crate) fn sqlite(dir: &Path) -> Place {
        let url = format!("sqlite://{}", sqlite_file(dir).display());
        Place { store: StoreKind::Sqlite, url, server_pid: None }
    }

    pub(crate) fn server(store: StoreKind, url: String, server_pid: u32) -> Place {
        Place { store, url, server_pid: Some(server_pid) }
    }

    pub(crate) fn file(&self) -> Result<&Path> {
        self.url.strip_prefix("sqlite://").map(Path::new).context("the database is no file")
    }

    /// Statements through the client of the server, which shares nothing with what is measured.
    pub(crate) fn sql(&self, statements: &str) -> Result<String> {
        mainspring_test_servers::sql(&self.url, statements)
    }
}
