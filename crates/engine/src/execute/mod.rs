//! Executing.
