//! The interface over a real engine on the memory store.
#![expect(clippy::unwrap_used, reason = "a test says by failing what is wrong")]

mod cron;
mod document;
mod house;
mod input;
mod jobs;
mod safety;
mod serving;
mod tasks;
