//! What a handler declares and how it fails. The trait of handlers itself needs a database transaction and lives in the worker.

use std::fmt;

/// Whether an event carries an object's whole state or a change to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordering {
    /// The event carries the whole object: an older one must not overwrite a newer one, so the version guard decides.
    Snapshot,
    /// The event carries a change (usage +5): each must be applied once, in any order, so there is no guard.
    Delta,
}

/// Why a handler could not apply an event. Its text goes into the ledger's `last_error`, so keep secrets out of it.
///
/// `?` on any error makes it retryable. It is no `std::error::Error` itself, which is what allows that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandlerError {
    /// Worth another try: a lock, a timeout, a service that is down.
    Retryable(String),
    /// Will fail the same way every time: goes to `dead_letter` at once.
    Permanent(String),
}

impl HandlerError {
    pub fn retryable(reason: impl fmt::Display) -> Self {
        Self::Retryable(reason.to_string())
    }

    pub fn permanent(reason: impl fmt::Display) -> Self {
        Self::Permanent(reason.to_string())
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retryable(reason) | Self::Permanent(reason) => f.write_str(reason),
        }
    }
}

impl<E: std::error::Error> From<E> for HandlerError {
    fn from(error: E) -> Self {
        let mut chain = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            chain = format!("{chain}: {error}");
            cause = error.source();
        }
        Self::Retryable(chain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_mark_keeps_the_whole_chain() {
        fn fails() -> Result<(), HandlerError> {
            Err(std::io::Error::other("disk on fire"))?;
            Ok(())
        }
        assert_eq!(fails(), Err(HandlerError::Retryable("disk on fire".into())));
    }
}
