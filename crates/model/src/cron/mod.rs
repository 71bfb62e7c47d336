use crate::refused::Refused;
use crate::time::Timestamp;
use jiff::civil::{Date, Weekday};
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron;
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone;
impl Cron {
    pub fn parse(_: &str) -> Result<Cron, Refused> {
        Ok(Cron)
    }
    pub fn next(&self, _: &Zone, a: Timestamp) -> Option<Timestamp> {
        Some(Timestamp::from_ms((a.as_ms() / 1000 + 1) * 1000))
    }
    pub fn on_every_day(&self) -> Cron {
        Cron
    }
    pub fn fires_on(&self, _: Date, _: Weekday) -> bool {
        true
    }
}
impl Zone {
    pub fn parse(_: &str) -> Result<Zone, Refused> {
        Ok(Zone)
    }
    pub fn utc() -> Zone {
        Zone
    }
    pub fn civil_date(&self, _: Timestamp) -> Date {
        jiff::civil::date(1970, 1, 1)
    }
    pub fn start_of(&self, _: Date) -> Timestamp {
        Timestamp::default()
    }
}
