//! Events under their guard: which handler, whether the event is the newest, and a fence around what the handler can do to us.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use hookledger_core::{Candidate, Event, HandlerError, Ordering, Outcome};
use hookledger_ledger::{Guard, Lease, Ledger, LedgerError, Tie, Work};
use hookledger_providers::{Sources, sns_confirmation_url};
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

/// What there is to do about an event.
enum Way<'a> {
    Confirm {
        url: String,
    },
    /// Nobody's.
    Ignore,
    Delta(&'a Route),
    Snapshot(&'a Route),
}

/// Applies the leased events, in their order, in work that is begun for them.
pub(crate) async fn apply_all<'a>(
    ledger: &'a mut Ledger,
    routes: &[Route],
    sources: &Sources,
    https: &Https,
    leases: &[Lease],
) -> Result<(Work<'a>, Vec<Applied>), HandlerError> {
    let ways: Vec<(&Event, Way<'_>)> =
        leases.iter().map(|lease| way_of(lease, routes, sources)).collect::<Result<_, _>>()?;
    let (work, guards) = begin(ledger, sources, &ways).await?;
    let mut guards = guards.into_iter();
    let mut applied = Vec::with_capacity(ways.len());
    for (event, way) in &ways {
        applied.push(match way {
            Way::Confirm { url } => confirm(https, url).await.map(Applied::as_told)?,
            Way::Ignore => Applied::as_told(Outcome::Ignored),
            Way::Delta(route) => run(&work, route.apply, event).await.map(Applied::as_told)?,
            Way::Snapshot(route) => {
                let guard = guards.next().ok_or_else(|| HandlerError::retryable("an event was not guarded"))?;
                apply_guarded(&work, route, event, guard).await?
            }
        });
    }
    Ok((work, applied))
}

fn way_of<'a>(lease: &'a Lease, routes: &'a [Route], sources: &Sources) -> Result<(&'a Event, Way<'a>), HandlerError> {
    let event = lease.event.as_ref().ok_or_else(|| HandlerError::permanent("its payload is past retention"))?;
    let source = sources.get(event.source.as_str());
    let source = source.ok_or_else(|| HandlerError::permanent("its source is not configured any more"))?;
    let way = match (sns_confirmation_url(source, event), routes.iter().find(|route| route.takes(event))) {
        (Some(url), _) => Way::Confirm { url },
        (None, None) => Way::Ignore,
        (None, Some(route)) => match route.ordering {
            Ordering::Delta => Way::Delta(route),
            Ordering::Snapshot => Way::Snapshot(route),
        },
    };
    Ok((event, way))
}

/// With a guard for each snapshot, in their order.
async fn begin<'a>(
    ledger: &'a mut Ledger,
    sources: &Sources,
    ways: &[(&Event, Way<'_>)],
) -> Result<(Work<'a>, Vec<Guard>), LedgerError> {
    let is_guarded = |way: &Way<'_>| match way {
        Way::Snapshot(_) => true,
        Way::Confirm { .. } | Way::Ignore | Way::Delta(_) => false,
    };
    let snapshots: Vec<&Event> = ways.iter().filter(|(_, way)| is_guarded(way)).map(|(event, _)| *event).collect();
    // Events of one object are of one source, which is configured: it was looked up for the event that is compared.
    let candidate = |event: &Event| -> Candidate {
        match sources.get(event.source.as_str()) {
            Some(source) => hookledger_providers::candidate(source, event),
            None => Candidate { event_id: event.event_id.clone(), lifecycle: event.lifecycle, object: None, previous: None },
        }
    };
    ledger.begin_guarded(&snapshots, &candidate).await
}

async fn apply_guarded(work: &Work<'_>, route: &Route, event: &Event, guard: Guard) -> Result<Applied, HandlerError> {
    match guard {
        Guard::Stale => Ok(Applied::as_told(Outcome::Stale)),
        Guard::Newest { tie } => apply_newest(work, route, event, tie).await,
        // This event is older; that it arrived shows which of the others is the newest.
        Guard::Other { newest, tie } => {
            let applied = apply_newest(work, route, &newest, tie).await?;
            Ok(Applied { outcome: Outcome::Stale, ..applied })
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
