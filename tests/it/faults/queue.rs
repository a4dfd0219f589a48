//! The queue's faults: messages twice, late, and about nothing.

use std::time::Duration;

use hookledger_harness::faults::SqsFault;
use hookledger_harness::lambda::Polled;
use serde_json::json;

use super::scene::{Scene, event};

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_the_queue_delivers_twice_has_one_effect() {
    let scene = Scene::new("sent_twice").await;
    scene.hookledger.sqs.set(SqsFault::Repeat);
    scene.accept(&event("evt_1", "sub_1")).await;
    scene.hookledger.sqs.set(SqsFault::None);
    let mut deleted = 0;
    while deleted < 2 {
        match scene.next_batch().await {
            Polled::Invoked { deleted: more, failed: 0 } => deleted += more,
            other @ (Polled::Nothing | Polled::Invoked { .. } | Polled::NotInvoked(_)) => panic!("{other:?}"),
        }
    }
    assert_eq!((scene.attempts("evt_1").await, scene.effects("sub_1").await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_whose_answer_is_lost_is_tried_again_and_has_one_effect() {
    let scene = Scene::new("send_answer_lost").await;
    scene.hookledger.sqs.set(SqsFault::DropAnswer);
    scene.accept(&event("evt_1", "sub_1")).await;
    assert_eq!(scene.hookledger.sqs.sends(), 3, "once by ourselves, twice by the SDK");
    scene.hookledger.sqs.set(SqsFault::None);
    scene.settle("evt_1").await;
    assert_eq!((scene.attempts("evt_1").await, scene.effects("sub_1").await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_hangs_does_not_keep_the_sender_waiting() {
    let scene = Scene::new("queue_hangs").await;
    scene.hookledger.sqs.set(SqsFault::Delay(Duration::from_secs(30)));
    let answer = scene.deliver(&event("evt_1", "sub_1")).await;
    assert_eq!((answer.status, answer.field("outcome").as_deref()), (200, Some("accepted")));
    // It waits for a second at most, and then says so.
    let gave_up = "the queue did not answer in time";
    assert!(!scene.words().contains(gave_up), "{}", scene.words());
    scene.hookledger.receiver.at_rest(Duration::from_secs(20)).await.unwrap();
    assert!(scene.words().contains(gave_up), "{}", scene.words());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_with_an_unknown_id_goes_and_one_that_cannot_be_read_stays() {
    let scene = Scene::new("unknown_id").await;
    let body = json!({ "source": "stripe", "event_id": "evt_of_nobody" }).to_string();
    scene.emulator.send(&scene.hookledger.queue_url, &body).await.unwrap();
    assert_eq!(scene.next_batch().await, Polled::Invoked { deleted: 1, failed: 0 });
    scene.emulator.send(&scene.hookledger.queue_url, "not ours").await.unwrap();
    assert_eq!(scene.next_batch().await, Polled::Invoked { deleted: 0, failed: 1 });
    assert!(scene.words().contains("evt_of_nobody"));
}
