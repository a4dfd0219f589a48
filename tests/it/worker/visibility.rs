use std::time::Duration;

use hookledger_harness::Emulator;
use hookledger_queue::Queue;
use worker::Route;

use super::batch::{batch_of, message};
use super::handlers::apply;
use crate::ground::{Ground, event};

const SOON: &[Route] = &[Route::delta("stripe", "*", apply).backoff(Duration::from_secs(1), Duration::from_secs(1))];

#[tokio::test]
async fn a_failed_events_message_comes_back_when_its_retry_is_due() {
    let emulator = Emulator::start().unwrap();
    let url = emulator.create_queue("events", &[("VisibilityTimeout", "180")]).await.unwrap();
    let client = crate::queue::client(&emulator.endpoint());
    let mut ground = Ground::new("visibility").await;
    ground.claim(&event("fail-1")).await;
    let mut worker = ground.worker_of(SOON, vec![Queue::new(client, url.clone())]);

    emulator.send(&url, r#"{"source":"stripe","event_id":"fail-1"}"#).await.unwrap();
    for attempt in 1..=5 {
        // Without the change it would be away for three minutes; a poll waits for ten seconds at most.
        let received = emulator.receive(&url, 10).await.unwrap();
        assert_eq!(received.len(), 1, "attempt {attempt}");
        let mut message = message("m", &received[0].body);
        message["receiptHandle"] = received[0].receipt_handle.as_str().into();
        let response = worker.batch(batch_of(&[message])).await;
        let comes_back = !response.batch_item_failures.is_empty();
        assert_eq!(comes_back, attempt < 5);
        let attempts = format!("({attempt})");
        ground.check_read("SELECT attempts FROM webhook_event", &attempts).await;
    }
    ground.check_read("SELECT status FROM webhook_event", "(dead_letter)").await;
}
