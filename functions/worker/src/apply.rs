//! One event under its guard: which handler, whether the event is the newest, and a fence around what the handler can do to us.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use hookledger_core::{Candidate, Event, HandlerError, Ordering, Outcome};
use hookledger_ledger::{Guard, Tie, Work};
use hookledger_providers::{Source, sns_confirmation_url};
use hookledger_runtime::Https;

use crate::confirm::confirm;
use crate::route::{Apply, Route};

/// What became of an event, before it is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) outcome: Outcome,
    /// The order among events of one version was arbitrary, and nobody was asked.
    pub(crate) tie_unresolved: bool,
}

impl Applied {
    fn as_told(outcome: Outcome) -> Self {
        Self { outcome, tie_unresolved: false }
    }
}

pub(crate) async fn apply(
    work: &Work<'_>,
    route: Option<&Route>,
    source: &Source,
    event: &Event,
    https: &Https,
) -> Result<Applied, HandlerError> {
    if let Some(url) = sns_confirmation_url(source, event) {
        return confirm(https, &url).await.map(Applied::as_told);
    }
    let Some(route) = route else { return Ok(Applied::as_told(Outcome::Ignored)) };
    match route.ordering {
        Ordering::Delta => run(work, route.apply, event).await.map(Applied::as_told),
        Ordering::Snapshot => {
            let candidate = |event: &Event| -> Candidate { hookledger_providers::candidate(source, event) };
            match work.guard(event, &candidate).await? {
                Guard::Stale => Ok(Applied::as_told(Outcome::Stale)),
                Guard::Newest { tie } => apply_newest(work, route, event, tie).await,
                // This event is older; that it arrived shows which of the others is the newest.
                Guard::Other { newest, tie } => {
                    let applied = apply_newest(work, route, &newest, tie).await?;
                    Ok(Applied { outcome: Outcome::Stale, ..applied })
                }
            }
        }
    }
}

async fn apply_newest(work: &Work<'_>, route: &Route, event: &Event, tie: Tie) -> Result<Applied, HandlerError> {
    match (tie, route.on_unresolved_tie) {
        (Tie::Unresolved, Some(fetch)) => run(work, fetch, event).await.map(Applied::as_told),
        (Tie::Unresolved, None) => {
            let outcome = run(work, route.apply, event).await?;
            Ok(Applied { outcome, tie_unresolved: true })
        }
        (Tie::None | Tie::Resolved, _) => run(work, route.apply, event).await.map(Applied::as_told),
    }
}

/// A panic is a failed attempt like any other: the transaction is rolled back with it, and the process goes on.
async fn run(work: &Work<'_>, apply: Apply, event: &Event) -> Result<Outcome, HandlerError> {
    let handled = AssertUnwindSafe(async { apply(work.transaction(), event).await }).catch_unwind().await;
    handled.unwrap_or_else(|panic| {
        let words =
            panic.downcast_ref::<&str>().map(|s| (*s).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
        Err(HandlerError::retryable(format!("the handler panicked: {}", words.unwrap_or_default())))
    })
}
