//! Which events go to which handler, and what the handler declares about itself.

use std::time::Duration;

use futures_util::future::BoxFuture;
use hookledger_core::{Event, HandlerError, Ordering, Outcome, RetryPolicy};
use hookledger_ledger::Transaction;

/// A handler: writes its rows through the transaction and says what it did. It must not commit, and what it does outside of
/// the transaction can happen more than once.
pub type Apply = for<'a> fn(&'a Transaction<'a>, &'a Event) -> BoxFuture<'a, Result<Outcome, HandlerError>>;

/// One handler and the events that it takes.
#[derive(Clone, Copy)]
pub struct Route {
    source: &'static str,
    event_types: &'static str,
    pub(crate) ordering: Ordering,
    pub(crate) apply: Apply,
    pub(crate) on_unresolved_tie: Option<Apply>,
    backoff: Option<(Duration, Duration)>,
}

impl Route {
    /// For events that carry an object's whole state: an older one never overwrites a newer one.
    ///
    /// `event_types` is a type, or the beginning of types followed by `*`, such as `customer.subscription.*`.
    pub const fn snapshot(source: &'static str, event_types: &'static str, apply: Apply) -> Self {
        Self { source, event_types, ordering: Ordering::Snapshot, apply, on_unresolved_tie: None, backoff: None }
    }

    /// For events that carry a change: each is applied once, in any order.
    pub const fn delta(source: &'static str, event_types: &'static str, apply: Apply) -> Self {
        Self { source, event_types, ordering: Ordering::Delta, apply, on_unresolved_tie: None, backoff: None }
    }

    /// What to do instead where several events share a version and nothing in them tells which is the newest: typically, ask
    /// the provider for the object. It runs under the object's row lock, so its answer is not overtaken by another worker's.
    pub const fn on_unresolved_tie(self, fetch: Apply) -> Self {
        Self { on_unresolved_tie: Some(fetch), ..self }
    }

    /// The first wait before a retry and the longest, instead of the source's own.
    pub const fn backoff(self, base: Duration, cap: Duration) -> Self {
        Self { backoff: Some((base, cap)), ..self }
    }

    pub(crate) fn takes(&self, event: &Event) -> bool {
        let fits = match self.event_types.strip_suffix('*') {
            Some(beginning) => event.event_type.starts_with(beginning),
            None => event.event_type == self.event_types,
        };
        fits && event.source.as_str() == self.source
    }

    pub(crate) fn retry(&self, of_source: RetryPolicy) -> RetryPolicy {
        match self.backoff {
            Some((base, cap)) => RetryPolicy { base, cap, ..of_source },
            None => of_source,
        }
    }
}
