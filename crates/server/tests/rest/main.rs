//! The interface over a real engine on the memory store.

mod document;
mod house;
mod input;
mod jobs;
mod safety;
mod serving;
mod tasks;
