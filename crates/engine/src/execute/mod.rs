//! Executing.

pub mod process;
pub mod shim;
