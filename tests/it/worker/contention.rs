use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hookledger_core::{Event, HandlerError, Outcome};
use hookledger_ledger::Transaction;
use worker::Route;

use super::batch::deliver;
use crate::ground::{Ground, event};

/// How many handlers hold their first row.
static HOLDING: AtomicUsize = AtomicUsize::new(0);

/// Locks two rows in the order that the event's id names, the second only once another handler holds its first.
fn lock_two<'a>(transaction: &'a Transaction<'a>, event: &'a Event) -> BoxFuture<'a, Result<Outcome, HandlerError>> {
    Box::pin(async move {
        let mut rows = event.event_id.as_str().split('-');
        for row in [rows.next().unwrap(), rows.next().unwrap()] {
            let lock = format!("UPDATE subscription SET version = version + 1 WHERE subscription_id = '{row}'");
            transaction.batch_execute(&lock).await?;
            HOLDING.fetch_add(1, Ordering::SeqCst);
            while HOLDING.load(Ordering::SeqCst) < 2 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        Ok(Outcome::Applied)
    })
}

const LOCKING: &[Route] = &[Route::delta("stripe", "*", lock_two)];

#[tokio::test]
async fn a_deadlock_between_two_workers_costs_no_attempt() {
    let mut ground = Ground::new("contention").await;
    ground.run("INSERT INTO subscription VALUES ('a', '', '', 0), ('b', '', '', 0)").await;
    ground.claim(&event("a-b")).await;
    ground.claim(&event("b-a")).await;
    let (mut one, mut other) = (ground.worker(LOCKING), ground.worker(LOCKING));
    let (a, b) = tokio::join!(deliver(&mut one, &["a-b"]), deliver(&mut other, &["b-a"]));
    ground.check_read("SELECT last_error FROM webhook_event WHERE last_error IS NOT NULL", "").await;
    assert_eq!((a, b), (vec![], vec![]));
    ground.check_read("SELECT DISTINCT status, attempts FROM webhook_event", "(settled,1)").await;
    ground.check_read("SELECT DISTINCT version FROM subscription", "(2)").await;
    ground.run("SELECT pg_stat_force_next_flush()").await;
    for _ in 0..200 {
        if ground.read("SELECT deadlocks > 0 FROM pg_stat_database WHERE datname = current_database()").await == "(t)" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("there was no deadlock to survive");
}
