//! What becomes of history that is old.

/// What `drop_history` removed, or would remove.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DroppedHistory {
    /// As `2026-12-01`, UTC.
    pub days: Vec<String>,
    pub jobs: u64,
    pub attempts: u64,
    pub kept: Vec<KeptDay>,
}

/// A day that stays although it is old enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptDay {
    pub day: String,
    pub reason: String,
}
