use std::collections::BTreeSet;
use std::time::Duration;

use hookledger_core::{EventRef, Settlement, SourceName};
use hookledger_ledger::{Ledger, Swept};

use crate::ground::{Ground, event, key};

async fn sweep(ledger: &mut Ledger) -> Swept {
    ledger.sweep(&[(SourceName::new("stripe").unwrap(), 5)], 5, 100).await.unwrap()
}

fn ids(keys: &[EventRef]) -> BTreeSet<&str> {
    keys.iter().map(|key| key.event_id.as_str()).collect()
}

/// As if `seconds` had passed.
fn pass(seconds: u32) -> String {
    ["received_at", "requeued_at", "next_attempt_at", "lease_until"]
        .map(|column| format!("UPDATE webhook_event SET {column} = {column} - interval '{seconds} s'"))
        .join(";")
}

#[tokio::test]
async fn what_fell_through_is_found_and_nothing_else() {
    let mut ground = Ground::new("sweep_found").await;
    ground.claim(&event("claimed")).await;
    let failed = ground.leased("failed").await;
    ground.ledger.fail(failed, Settlement::RetryIn(Duration::from_secs(1)), "x").await.unwrap();
    let waiting = ground.leased("waiting").await;
    ground.ledger.fail(waiting, Settlement::RetryIn(Duration::from_secs(900)), "x").await.unwrap();
    ground.leased("abandoned").await;
    let settled = ground.leased("settled").await;
    ground.settle(settled, "SELECT 1").await.unwrap();
    assert_eq!(sweep(&mut ground.ledger).await, Swept::default());
    ground.run(&pass(110)).await;
    ground.claim(&event("young")).await;
    assert_eq!(ids(&sweep(&mut ground.ledger).await.requeue), BTreeSet::from(["abandoned", "claimed", "failed"]));
}

#[tokio::test]
async fn a_row_is_sent_again_at_growing_intervals() {
    let mut ground = Ground::new("sweep_growing").await;
    ground.claim(&event("evt_1")).await;
    let mut sent_at = Vec::new();
    for minute in 1..=200 {
        ground.run(&pass(60)).await;
        if !sweep(&mut ground.ledger).await.requeue.is_empty() {
            sent_at.push(minute);
        }
    }
    // About doubling (a sweep that comes a moment early leaves it to the next), and hourly in the end.
    let gaps: Vec<i32> = sent_at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.is_sorted() && sent_at[0] == 1 && gaps[0] <= 2 && gaps.ends_with(&[60]), "{sent_at:?}");
    assert!(gaps.windows(2).all(|pair| pair[1] == 60 || pair[1] >= pair[0] * 2 - 1), "{sent_at:?}");
}

#[tokio::test]
async fn two_sweeps_at_once_share_the_work() {
    let mut ground = Ground::new("sweep_two").await;
    for n in 0..60 {
        ground.claim(&event(&n.to_string())).await;
    }
    ground.run(&pass(61)).await;
    let (mut one, mut other) = (ground.another(), ground.another());
    let (a, b) = tokio::join!(sweep(&mut one), sweep(&mut other));
    assert_eq!(a.requeue.len() + b.requeue.len(), 60);
    assert_eq!(ids(&[a.requeue, b.requeue].concat()).len(), 60);
}

#[tokio::test]
async fn an_exhausted_lease_becomes_a_dead_letter() {
    let mut ground = Ground::new("sweep_exhausted").await;
    ground.leased("last").await;
    ground.leased("first").await;
    ground.run("UPDATE webhook_event SET attempts = 5 WHERE event_id = 'last'").await;
    ground.run(&pass(200)).await;
    let swept = sweep(&mut ground.ledger).await;
    assert_eq!((ids(&swept.dead_lettered), ids(&swept.requeue)), (BTreeSet::from(["last"]), BTreeSet::from(["first"])));
    ground.check_read("SELECT status FROM webhook_event WHERE event_id = 'last'", "(dead_letter)").await;
    let backlog = ground.ledger.backlog().await.unwrap();
    assert_eq!((backlog.unsettled, backlog.dead_letters), (1, 1));
    assert!(backlog.oldest_age >= Duration::from_secs(200));
}

#[tokio::test]
async fn a_row_that_could_not_be_sent_is_due_at_the_next_sweep() {
    let mut ground = Ground::new("sweep_unsent").await;
    ground.claim(&event("evt_1")).await;
    ground.run(&pass(600)).await;
    assert_eq!(sweep(&mut ground.ledger).await.requeue.len(), 1);
    ground.ledger.unmark(&[key("evt_1")]).await.unwrap();
    assert_eq!(sweep(&mut ground.ledger).await.requeue.len(), 1);
    assert_eq!(sweep(&mut ground.ledger).await.requeue.len(), 0);
}
