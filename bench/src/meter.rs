//! A window over a run on a database: processors, and what the server counted.

use anyhow::Result;

use crate::counters::Counters;
use crate::figures::Figures;
use crate::place::Place;
use crate::window::{Spent, Window};

#[derive(Debug)]
pub(crate) struct Meter {
    window: Window,
    before: Option<Counters>,
}

impl Meter {
    /// `others`: processes that belong to the measurement besides this one and the server.
    pub(crate) fn open(place: &Place, others: &[u32]) -> Result<Meter> {
        // In this order: the look at the counters is a process of its own.
        let before = Counters::read(place)?;
        Ok(Meter { before, window: Window::open_with(place.server_pid, others)? })
    }

    pub(crate) fn close(&self) -> Result<Spent> {
        self.window.close()
    }

    /// When the sessions have ended.
    pub(crate) fn tell_counts(&self, place: &Place, figures: &mut Figures, jobs: u64) -> Result<()> {
        match &self.before {
            Some(before) => before.tell(place, figures, jobs),
            None => Ok(()),
        }
    }
}
