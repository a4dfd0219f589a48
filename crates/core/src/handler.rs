//! What a handler declares and how it fails. The trait of handlers itself needs a database transaction and lives in the worker.

use std::error::Error;
use std::fmt;

/// Whether an event carries an object's whole state or a change to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordering {
    /// The event carries the whole object: an older one must not overwrite a newer one, so the version guard decides.
    Snapshot,
    /// The event carries a change (usage +5): each must be applied once, in any order, so there is no guard.
    Delta,
}

/// What went wrong inside, or words about it.
pub type Reason = Box<dyn Error + Send + Sync>;

/// Why a handler could not apply an event. Its text goes into the ledger's `last_error`, so keep secrets out of it.
///
/// `?` on any error makes it retryable. It is no `std::error::Error` itself, which is what allows that.
#[derive(Debug)]
pub enum HandlerError {
    /// Worth another try: a lock, a timeout, a service that is down.
    Retryable(Reason),
    /// Will fail the same way every time: goes to `dead_letter` at once.
    Permanent(Reason),
}

impl HandlerError {
    pub fn retryable(reason: impl Into<Reason>) -> Self {
        Self::Retryable(reason.into())
    }

    pub fn permanent(reason: impl Into<Reason>) -> Self {
        Self::Permanent(reason.into())
    }

    pub fn reason(&self) -> &(dyn Error + Send + Sync + 'static) {
        match self {
            Self::Retryable(reason) | Self::Permanent(reason) => reason.as_ref(),
        }
    }
}

/// The reason with its causes.
impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason())?;
        let mut cause = self.reason().source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for HandlerError {
    fn from(error: E) -> Self {
        Self::Retryable(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot write the page")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn a_question_mark_makes_any_error_retryable_and_keeps_its_causes() {
        fn fails() -> Result<(), HandlerError> {
            Err(Outer(std::io::Error::other("disk on fire")))?;
            Ok(())
        }
        let error = fails().unwrap_err();
        assert!(matches!(error, HandlerError::Retryable(_)));
        assert_eq!(error.to_string(), "cannot write the page: disk on fire");
    }
}
