//! Lengths of time in microseconds, kept as a histogram: exact to 0.1 %, in constant memory.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hdrhistogram::Histogram;

use crate::figures::Figures;

/// One hour: nothing here waits longer.
const US_MAX: u64 = 3_600_000_000;

#[derive(Debug, Clone)]
pub(crate) struct Latencies {
    histogram: Histogram<u64>,
    /// Signed, for a start before its instant is a fault and must be seen.
    min_us: i64,
}

impl Default for Latencies {
    fn default() -> Latencies {
        let histogram = Histogram::new_with_bounds(1, US_MAX, 3).expect("the bounds are in order");
        Latencies { histogram, min_us: i64::MAX }
    }
}

impl Latencies {
    pub(crate) fn record_us(&mut self, us: i64) {
        self.min_us = self.min_us.min(us);
        self.histogram.saturating_record(u64::try_from(us).unwrap_or(0));
    }

    pub(crate) fn record(&mut self, length: Duration) {
        self.record_us(i64::try_from(length.as_micros()).unwrap_or(i64::MAX));
    }

    pub(crate) fn merge(&mut self, other: &Latencies) {
        self.min_us = self.min_us.min(other.min_us);
        self.histogram.add(&other.histogram).expect("both have the same bounds");
    }

    pub(crate) fn count(&self) -> u64 {
        self.histogram.len()
    }

    pub(crate) fn quantile_ms(&self, quantile: f64) -> f64 {
        self.histogram.value_at_quantile(quantile) as f64 / 1_000.0
    }

    /// `<prefix>p50_ms` and so on.
    pub(crate) fn tell(&self, figures: &mut Figures, prefix: &str) {
        if self.count() == 0 {
            return;
        }
        figures.set(&format!("{prefix}min_ms"), self.min_us as f64 / 1_000.0);
        figures.set(&format!("{prefix}mean_ms"), self.histogram.mean() / 1_000.0);
        figures.set(&format!("{prefix}p50_ms"), self.quantile_ms(0.5));
        figures.set(&format!("{prefix}p99_ms"), self.quantile_ms(0.99));
        figures.set(&format!("{prefix}max_ms"), self.histogram.max() as f64 / 1_000.0);
    }
}

/// The wall clock, for instants that pass through a database.
pub(crate) fn now_us() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX)
}

/// Signed difference of two instants.
pub(crate) fn us_since(later: u64, earlier: u64) -> i64 {
    i64::try_from(later).unwrap_or(i64::MAX) - i64::try_from(earlier).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_before_its_instant_is_seen() {
        let mut latencies = Latencies::default();
        for us in [2_000, -300, 5_000] {
            latencies.record_us(us);
        }
        let mut figures = Figures::default();
        latencies.tell(&mut figures, "");
        assert_eq!(figures.get("min_ms"), Some(-0.3));
        assert!(figures.get("p50_ms").is_some_and(|ms| (ms - 2.0).abs() < 0.01));
    }
}
