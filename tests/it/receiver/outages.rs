use std::time::Duration;

use hookledger_harness::{Emulator, free_port};
use hookledger_ledger::Ledger;
use serde_json::json;

use super::delivery::{deliver, receiver, receiver_with};
use crate::ground::{Ground, config};

/// A ledger whose database refuses every connection.
fn ledger_that_is_away() -> Ledger {
    let url = format!("postgres://nobody@127.0.0.1:{}/nothing", free_port().unwrap());
    Ledger::new(config(&url), Duration::from_millis(500))
}

#[tokio::test]
async fn a_queue_that_is_away_is_no_error_to_the_provider() {
    let nowhere = format!("http://127.0.0.1:{}", free_port().unwrap());
    let ground = Ground::new("receiver_no_queue").await;
    let mut receiver = receiver_with(ground.another(), &nowhere, &format!("{nowhere}/0/q"), &format!("{nowhere}/0/s")).await;
    deliver(&mut receiver, "evt_1").await.check(200, &json!({ "outcome": "accepted", "event_id": "evt_1" }));
    ground.check_read("SELECT status FROM webhook_event", "(claimed)").await;
}

#[tokio::test]
async fn while_the_database_is_away_events_are_spilled_whole_and_claimed_later_with_their_time() {
    let emulator = Emulator::start().unwrap();
    let ground = Ground::new("receiver_spill").await;
    let mut receiver = receiver(&ground, &emulator).await;
    receiver.ledger = ledger_that_is_away();
    deliver(&mut receiver, "evt_1").await.check(200, &json!({ "outcome": "accepted", "event_id": "evt_1" }));
    let before: i64 = ground
        .sql
        .query_typed("SELECT pg_sleep(1), extract(epoch FROM clock_timestamp() - interval '1 s')::int8", &[])
        .await
        .unwrap()[0]
        .get(1);

    let spill = emulator.create_queue("spill", &[]).await.unwrap();
    let message = &emulator.receive(&spill, 10).await.unwrap()[0];
    assert!(!message.body.contains("sub_1"), "it is compressed");
    let batch = crate::worker::batch_of(&[crate::worker::message("m", &message.body)]);
    let mut worker = ground.worker(worker::handlers::ROUTES);
    for _ in 0..2 {
        let response = worker.batch(batch.clone()).await;
        assert!(response.batch_item_failures.is_empty());
    }
    ground.check_read("SELECT status, outcome, via, attempts FROM webhook_event", "(settled,applied,spill,1)").await;
    let first_time = format!("SELECT abs(extract(epoch FROM received_at) - {before}) <= 1 AS kept FROM webhook_event");
    ground.check_read(&first_time, "(t)").await;
    ground.check_read("SELECT plan FROM subscription", "(team)").await;
    // A delivery that is repeated once the database is back is a duplicate of the spilled one.
    receiver.ledger = ground.another();
    deliver(&mut receiver, "evt_1").await.check(200, &json!({ "outcome": "duplicate", "event_id": "evt_1" }));
}

#[tokio::test]
async fn with_both_away_the_sender_is_asked_to_come_again() {
    let nowhere = format!("http://127.0.0.1:{}", free_port().unwrap());
    let mut receiver =
        receiver_with(ledger_that_is_away(), &nowhere, &format!("{nowhere}/0/q"), &format!("{nowhere}/0/s")).await;
    let answer = deliver(&mut receiver, "evt_1").await;
    assert_eq!((answer.status, &answer.headers["retry-after"]), (503, &"30".parse().unwrap()));
}
