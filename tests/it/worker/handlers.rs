//! Handlers that behave as the first letters of an event's id say. Each writes a row first, which a failure must undo.

use futures_util::future::BoxFuture;
use hookledger_core::{Event, HandlerError, Outcome};
use hookledger_ledger::Transaction;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio_postgres::types::Type;
use worker::Route;

pub(super) const DELTA: &[Route] = &[Route::delta("stripe", "customer.subscription.*", apply)];
pub(super) const SNAPSHOT: &[Route] = &[Route::snapshot("stripe", "customer.subscription.*", apply)];
pub(super) const NOTHING: &[Route] = &[Route::delta("stripe", "invoice.*", apply)];

/// How often `once-…` was tried, in all tests together.
static ONCE: AtomicU32 = AtomicU32::new(0);

pub(super) fn apply<'a>(transaction: &'a Transaction<'a>, event: &'a Event) -> BoxFuture<'a, Result<Outcome, HandlerError>> {
    Box::pin(async move {
        let id = event.event_id.as_str();
        let insert = "INSERT INTO subscription VALUES ($1, 'plan', 'state', 1)";
        transaction.query_typed(insert, &[(&id, Type::TEXT)]).await?;
        match id.split('-').next().unwrap_or_default() {
            "panic" => panic!("as asked"),
            "permanent" => Err(HandlerError::permanent("never going to work")),
            "fail" => Err(HandlerError::retryable("not today")),
            "once" if ONCE.fetch_add(1, Ordering::Relaxed) < 2 => Err(HandlerError::retryable("only the first time")),
            "hang" => std::future::pending().await,
            "abort" => std::process::abort(),
            "swallow" => {
                // The transaction is broken, and the handler says nothing of it.
                drop(transaction.batch_execute("SELECT 1 / 0").await);
                Ok(Outcome::Applied)
            }
            _ => Ok(Outcome::Applied),
        }
    })
}
