//! What a database server counts: commits, bytes of its log, syncs, rows. Its own figures, before and after.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::args::StoreKind;
use crate::figures::Figures;
use crate::place::Place;

/// Sessions hand in their counts when they end, so the second look comes after that.
#[derive(Debug)]
pub(crate) struct Counters(BTreeMap<String, f64>);

const POSTGRES: &str = "
    SELECT 'log_bytes', pg_current_wal_insert_lsn() - '0/0'
    UNION ALL SELECT 'syncs', wal_sync FROM pg_stat_wal
    UNION ALL SELECT 'commits', xact_commit FROM pg_stat_database WHERE datname = current_database()
    UNION ALL SELECT 'rows', tup_inserted + tup_updated + tup_deleted
              FROM pg_stat_database WHERE datname = current_database()";
/// It has no count of its syncs of the log alone. Each statement is a message to the server and back.
const MARIADB: &[(&str, &str)] = &[
    ("Innodb_os_log_written", "log_bytes"),
    ("Innodb_data_fsyncs", "syncs"),
    ("Com_commit", "commits"),
    ("Handler_write", "rows"),
    ("Handler_update", "rows"),
    ("Handler_delete", "rows"),
    ("Questions", "statements"),
];

impl Counters {
    /// Nothing without a server.
    pub(crate) fn read(place: &Place) -> Result<Option<Counters>> {
        let text = match place.store {
            StoreKind::Sqlite => return Ok(None),
            StoreKind::Postgres => place.sql(POSTGRES)?,
            StoreKind::Mariadb => {
                let names: Vec<String> = MARIADB.iter().map(|(name, _)| format!("'{name}'")).collect();
                place.sql(&format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", names.join(", ")))?
            }
        };
        let mut counts = BTreeMap::new();
        for line in text.lines() {
            let (name, count) = line.split_once('\t').with_context(|| format!("reading `{line}`"))?;
            let ours = MARIADB.iter().find(|(theirs, _)| *theirs == name).map_or(name, |(_, ours)| *ours);
            *counts.entry(ours.to_owned()).or_insert(0.0) += count.parse::<f64>()?;
        }
        Ok(Some(Counters(counts)))
    }

    /// What has been counted since, for each of so many jobs.
    pub(crate) fn tell(&self, place: &Place, figures: &mut Figures, jobs: u64) -> Result<()> {
        let Some(now) = Counters::read(place)? else { return Ok(()) };
        for (name, count) in now.0 {
            let before = self.0.get(&name).copied().unwrap_or(0.0);
            figures.set(&format!("{name}_per_job"), (count - before) / jobs.max(1) as f64);
        }
        Ok(())
    }
}
