//! Executing.

pub mod egress;
#[cfg(feature = "http")]
pub mod http;
pub mod process;
pub mod shim;
