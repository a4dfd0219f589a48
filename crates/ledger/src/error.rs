//! Why the ledger could not do what it was asked.

use std::error::Error;

use hookledger_core::{InvalidName, UnknownWord};
use tokio_postgres::error::{DbError, SqlState};

use crate::connect::ConnectError;

#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("cannot connect to the ledger to {operation}")]
    Connect { operation: &'static str, source: ConnectError },
    /// The connection was dropped, so whether the statement took effect is not known.
    #[error("the ledger did not answer in time to {operation}")]
    NoAnswer { operation: &'static str },
    #[error("cannot {operation}")]
    Query { operation: &'static str, source: tokio_postgres::Error },
    /// The database was written by another version of this program.
    #[error("the ledger holds a row that cannot be read")]
    UnknownWord(#[from] UnknownWord),
    #[error("the ledger holds a key that cannot be read")]
    InvalidName(#[from] InvalidName),
}

impl LedgerError {
    /// Whether the connection broke, or none could be had: the same may do in a moment.
    pub fn is_a_cut(&self) -> bool {
        match self {
            Self::Connect { source, .. } => matches!(source, ConnectError::Unreachable(_)),
            Self::Query { source, .. } => connection_is_lost(source),
            Self::NoAnswer { .. } | Self::UnknownWord(_) | Self::InvalidName(_) => false,
        }
    }
}

/// What the server said, without what it quotes from rows, which is from bodies. `None` for errors that are not the server's.
///
/// That is its detail ("Failing row contains …") and, where it could not read a value (class 22), its message too.
pub fn without_values(error: &(dyn Error + 'static)) -> Option<String> {
    let db = error.downcast_ref::<DbError>()?;
    let code = db.code().code();
    let words = if code.starts_with("22") { "a value cannot be read" } else { db.message() };
    Some(format!("{}: {words} ({code})", db.severity()))
}

/// Whether nothing more can be done on the connection that gave this error.
pub(crate) fn connection_is_lost(error: &tokio_postgres::Error) -> bool {
    match error.as_db_error() {
        // 57P01 to 57P03: the server shuts down or the session was terminated; the socket follows.
        Some(db) => db.code().code().starts_with("57P"),
        None => error.is_closed() || error.source().is_some_and(|s| s.is::<std::io::Error>()),
    }
}

/// Whether a name of ours means nothing to this session of the server, or something else: there is a pooler on the way, which shares
/// sessions among clients. Nothing was done.
pub(crate) fn statement_is_another_s(error: &tokio_postgres::Error) -> bool {
    let code = error.code();
    [SqlState::INVALID_SQL_STATEMENT_NAME, SqlState::DUPLICATE_PSTATEMENT, SqlState::PROTOCOL_VIOLATION]
        .iter()
        .any(|meant| code == Some(meant))
}
