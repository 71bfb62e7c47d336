//! The reference store.
#[derive(Debug)]
pub struct MemoryStore;
