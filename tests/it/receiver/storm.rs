use hookledger_harness::{Emulator, Redis};
use serde_json::json;

use super::delivery::{deliver, receiver};
use crate::ground::{Ground, key};
use crate::hint::hint;

#[tokio::test]
async fn a_storm_of_a_settled_event_is_answered_by_looking_and_not_by_claiming() {
    let (emulator, redis) = (Emulator::start().unwrap(), Redis::start("").unwrap());
    let ground = Ground::new("storm").await;
    let mut receiver = receiver(&ground, &emulator).await;
    receiver.hint = hint(format!("redis://127.0.0.1:{}", redis.port()));
    deliver(&mut receiver, "evt_1").await.check(200, &json!({ "outcome": "accepted", "event_id": "evt_1" }));
    let mut worker = ground.worker(worker::handlers::ROUTES);
    worker.hint = hint(format!("redis://127.0.0.1:{}", redis.port()));
    let message = crate::worker::message("m", r#"{"source":"stripe","event_id":"evt_1"}"#);
    assert!(worker.batch(crate::worker::batch_of(&[message])).await.batch_item_failures.is_empty());
    ground.check_read("SELECT status FROM webhook_event", "(settled)").await;
    // A claim cannot be made any more, so whoever gets an answer did not try.
    ground.run("ALTER TABLE webhook_event RENAME COLUMN lifecycle TO gone").await;
    for _ in 0..3 {
        deliver(&mut receiver, "evt_1").await.check(200, &json!({ "outcome": "duplicate", "event_id": "evt_1" }));
    }
}

#[tokio::test]
async fn a_hint_that_is_wrong_loses_nothing() {
    let (emulator, redis) = (Emulator::start().unwrap(), Redis::start("").unwrap());
    let ground = Ground::new("storm_wrong").await;
    let mut receiver = receiver(&ground, &emulator).await;
    receiver.hint = hint(format!("redis://127.0.0.1:{}", redis.port()));
    receiver.hint.settled(&key("evt_1")).await;
    deliver(&mut receiver, "evt_1").await.check(200, &json!({ "outcome": "accepted", "event_id": "evt_1" }));
    ground.check_read("SELECT event_id, status FROM webhook_event", "(evt_1,claimed)").await;
}
