//! The sweeper at its boundary: rows in, messages and rows out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;

use hookledger_harness::{Emulator, free_port};
use hookledger_ledger::RetentionPolicy;
use hookledger_providers::Sources;
use hookledger_queue::Queue;
use sweeper::Sweeper;

use crate::ground::{Ground, event};

const AN_HOUR_LATER: &str = "
UPDATE webhook_event SET received_at = received_at - interval '1 hour', lease_until = lease_until - interval '1 hour',
       requeued_at = requeued_at - interval '1 hour'";

async fn sweeper(ground: &Ground, endpoint: &str, queue_url: &str) -> Sweeper {
    let queue = Queue::new(crate::queue::client(endpoint), queue_url.to_owned());
    Sweeper {
        ledger: ground.another(),
        spill: Some(queue.clone()),
        queue,
        sources: Sources::parse("[stripe]\nprovider = \"stripe\"\nsecrets = [\"env:S\"]").unwrap(),
        retention: RetentionPolicy::new(90, None).unwrap(),
    }
}

/// The ids that are on the queue, each as often as it is there.
async fn on_the_queue(emulator: &Emulator, url: &str) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let messages = emulator.receive(url, 0).await.unwrap();
        if messages.is_empty() {
            ids.sort();
            return ids;
        }
        for message in messages {
            let key: serde_json::Value = serde_json::from_str(&message.body).unwrap();
            ids.push(key["event_id"].as_str().unwrap().to_owned());
        }
    }
}

#[tokio::test]
async fn two_sweepers_at_once_send_each_row_that_fell_through_once() {
    let emulator = Emulator::start().unwrap();
    let url = emulator.create_queue("events", &[]).await.unwrap();
    let mut ground = Ground::new("sweeper_two").await;
    let ids: Vec<String> = (0..30).map(|n| format!("evt_{n:02}")).collect();
    for id in &ids {
        ground.claim(&event(id)).await;
    }
    ground.leased("abandoned").await;
    ground.run(AN_HOUR_LATER).await;
    let mut one = sweeper(&ground, &emulator.endpoint(), &url).await;
    let mut other = sweeper(&ground, &emulator.endpoint(), &url).await;
    tokio::join!(one.run(), other.run());
    one.run().await;
    let expected: Vec<String> = std::iter::once("abandoned".to_owned()).chain(ids).collect();
    assert_eq!(on_the_queue(&emulator, &url).await, expected);
}

#[tokio::test]
async fn what_the_queue_does_not_take_is_sent_by_the_next_sweep() {
    let emulator = Emulator::start().unwrap();
    let url = emulator.create_queue("events", &[]).await.unwrap();
    let mut ground = Ground::new("sweeper_unsent").await;
    ground.claim(&event("evt_1")).await;
    ground.run(AN_HOUR_LATER).await;
    let nowhere = format!("http://127.0.0.1:{}", free_port().unwrap());
    sweeper(&ground, &nowhere, &format!("{nowhere}/0/q")).await.run().await;
    sweeper(&ground, &emulator.endpoint(), &url).await.run().await;
    assert_eq!(on_the_queue(&emulator, &url).await, ["evt_1"]);
}

#[tokio::test]
async fn more_rows_than_fit_a_round_are_all_sent_in_one_run() {
    let emulator = Emulator::start().unwrap();
    let url = emulator.create_queue("events", &[]).await.unwrap();
    let ground = Ground::new("sweeper_many").await;
    ground
        .run("INSERT INTO webhook_event (source, event_id, event_type, lifecycle, via, received_at)
              SELECT 'stripe', 'evt_' || n, 'a', 'updated', 'webhook', now() - interval '1 hour' FROM generate_series(1, 1200) n")
        .await;
    sweeper(&ground, &emulator.endpoint(), &url).await.run().await;
    let sent = on_the_queue(&emulator, &url).await;
    assert_eq!((sent.len(), sent.iter().collect::<BTreeSet<_>>().len()), (1200, 1200));
}

#[tokio::test]
async fn a_dead_letter_and_old_payloads_are_seen_to() {
    let emulator = Emulator::start().unwrap();
    let url = emulator.create_queue("events", &[]).await.unwrap();
    let mut ground = Ground::new("sweeper_house").await;
    ground.leased("last").await;
    ground.run("UPDATE webhook_event SET attempts = 5; SELECT webhook_payload_add_month('2020-02-01')").await;
    ground.run(AN_HOUR_LATER).await;
    sweeper(&ground, &emulator.endpoint(), &url).await.run().await;
    ground.check_read("SELECT status FROM webhook_event", "(dead_letter)").await;
    ground.check_read("SELECT to_regclass('webhook_payload_202002') IS NULL AS gone", "(t)").await;
    assert_eq!(on_the_queue(&emulator, &url).await, [""; 0]);
}
