//! What an expression means, for whoever writes one.

use super::{Cron, CronError, Description, Dialect, Start, Warning, Zone};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    pub dialect: Dialect,
    pub description: Description,
    /// With the zone's offset; fewer than asked for when fewer remain.
    pub next_fires: Vec<String>,
    pub warnings: Vec<Warning>,
}

/// An expression that never fires is shown like any other: it is refused when it is saved.
pub fn preview(expression: &str, zone: &str, from: Start, count: u32) -> Result<Preview, CronError> {
    let cron = Cron::parse(expression)?;
    let zone = Zone::parse(zone)?;
    let fires = cron.fires(&zone, from).take(count as usize);
    Ok(Preview {
        dialect: cron.dialect(),
        description: cron.describe(),
        next_fires: fires.map(|fire| zone.show(fire)).collect(),
        warnings: cron.warnings(&zone, from),
    })
}
