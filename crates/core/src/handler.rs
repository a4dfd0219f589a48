//! What a handler declares and how it fails. The trait of handlers itself needs a database transaction and lives in the worker.

/// Whether an event carries an object's whole state or a change to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordering {
    /// The event carries the whole object: an older one must not overwrite a newer one, so the version guard decides.
    Snapshot,
    /// The event carries a change (usage +5): each must be applied once, in any order, so there is no guard.
    Delta,
}

/// Why a handler could not apply an event. Its text goes into the ledger's `last_error`, so keep secrets out of it.
#[derive(Debug, thiserror::Error)]
pub enum HandlerError {
    /// Worth another try: a lock, a timeout, a service that is down.
    #[error("{0}")]
    Retryable(String),
    /// Will fail the same way every time: goes to `dead_letter` at once.
    #[error("{0}")]
    Permanent(String),
}

impl HandlerError {
    pub fn retryable(error: impl std::fmt::Display) -> Self {
        Self::Retryable(error.to_string())
    }

    pub fn permanent(error: impl std::fmt::Display) -> Self {
        Self::Permanent(error.to_string())
    }
}
