//! The interface over a real engine on the memory store.
#![expect(clippy::unwrap_used, reason = "a test says by failing what is wrong")]

mod apply;
mod calendars;
mod cron;
mod document;
mod house;
mod input;
mod jobs;
mod nodes;
mod requests;
mod safety;
mod schedules;
mod serving;
mod tasks;
