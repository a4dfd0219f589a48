//! What an operator can ask of a ledger. It runs beside the database, in the operator's function or in `hookledger` itself,
//! from typed arguments to a typed answer; how an answer looks is the caller's affair.
//!
//! Invariants: an answer is bounded, and longer ones come in pages, each of which is asked for on its own; so whatever
//! breaks between two of them loses nothing. What changes data leaves an audit row that says who asked.

mod backfill;
mod doctor;
mod events;
mod maintenance;
mod place;
mod rearm;

use std::future::Future;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use backfill::{Backfill, Learn};
pub use doctor::{Doctor, Finding, State};
pub use events::{History, HistoryEvent, Known, List, ObjectHistory, Show, Stats};
pub use maintenance::{Prune, PrunedBatch, Purge};
pub use place::Place;
pub use rearm::{CountToRearm, Rearm, Rearmed};

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Ledger(#[from] hookledger_ledger::LedgerError),
    #[error(transparent)]
    Retention(#[from] hookledger_ledger::UnsafeRetention),
    #[error("no command of the name {0:?}: this function is older than the caller")]
    Unknown(String),
    #[error("the arguments of {name} cannot be read: this function is of another version than the caller")]
    Arguments { name: &'static str, source: serde_json::Error },
    #[error("the answer of {name} cannot be written")]
    Answer { name: &'static str, source: serde_json::Error },
}

/// One thing to ask.
pub trait Command: Serialize + DeserializeOwned + Send {
    const NAME: &'static str;
    type Answer: Serialize + DeserializeOwned + Send;
    fn run(self, place: &mut Place) -> impl Future<Output = Result<Self::Answer, CommandError>> + Send;
}

/// Runs a command that came over the wire.
pub async fn run(place: &mut Place, name: &str, arguments: Value) -> Result<Value, CommandError> {
    match name {
        List::NAME => answer::<List>(place, arguments).await,
        Show::NAME => answer::<Show>(place, arguments).await,
        Known::NAME => answer::<Known>(place, arguments).await,
        Stats::NAME => answer::<Stats>(place, arguments).await,
        History::NAME => answer::<History>(place, arguments).await,
        CountToRearm::NAME => answer::<CountToRearm>(place, arguments).await,
        Rearm::NAME => answer::<Rearm>(place, arguments).await,
        Purge::NAME => answer::<Purge>(place, arguments).await,
        Backfill::NAME => answer::<Backfill>(place, arguments).await,
        Learn::NAME => answer::<Learn>(place, arguments).await,
        Doctor::NAME => answer::<Doctor>(place, arguments).await,
        Prune::NAME => answer::<Prune>(place, arguments).await,
        other => Err(CommandError::Unknown(other.to_owned())),
    }
}

async fn answer<C: Command>(place: &mut Place, arguments: Value) -> Result<Value, CommandError> {
    let command: C =
        serde_json::from_value(arguments).map_err(|source| CommandError::Arguments { name: C::NAME, source })?;
    let answer = Box::pin(command.run(place)).await?;
    serde_json::to_value(answer).map_err(|source| CommandError::Answer { name: C::NAME, source })
}
