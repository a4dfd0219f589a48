//! The worker's faults: between the lease and the answer.

use hookledger_harness::lambda::{InvokeError, Polled};

use super::scene::{Scene, event};

const RECORDED: &str = include_str!("../worker/events/sqs.json");
const ALL_DONE: Polled = Polled::Invoked { deleted: 1, failed: 0 };

/// What an event source mapping hands over, with one message that no receiver of ours has sent.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_recorded_batch_only_what_cannot_be_read_comes_back() {
    let scene = Scene::new("recorded_batch").await;
    scene.accept(&event("evt_recorded", "sub_1")).await;
    let answer = scene.hookledger.worker.invoke(RECORDED).await.unwrap();
    assert_eq!(answer.payload, r#"{"batchItemFailures":[{"itemIdentifier":"2e1424d4-f796-459a-8184-9c92662be6da"}]}"#);
    assert_eq!((scene.status("evt_recorded").await.as_str(), scene.effects("sub_1").await), ("settled", 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_lease_another_worker_takes_over_and_there_is_one_effect() {
    let scene = Scene::new("killed_after_lease").await;
    scene.accept(&event("evt_1", "sub_1")).await;
    scene.slow_handlers(3.0).await;
    let (polled, ()) = tokio::join!(scene.next_batch(), async {
        scene.until_a_handler_dawdles().await;
        assert!(scene.hookledger.worker.kill(0));
    });
    assert_eq!(polled, Polled::NotInvoked(InvokeError::Crashed));
    assert_eq!(scene.status("evt_1").await, "processing");
    scene.slow_handlers(0.0).await;
    scene.sweep_after(120).await;
    scene.settle("evt_1").await;
    assert_eq!((scene.attempts("evt_1").await, scene.effects("sub_1").await), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_commit_before_the_answer_the_message_comes_again_and_there_is_one_effect() {
    let scene = Scene::new("killed_after_commit").await;
    scene.accept(&event("evt_1", "sub_1")).await;
    scene.hookledger.worker.crash_at_answers(1);
    assert_eq!(scene.next_batch().await, Polled::NotInvoked(InvokeError::Crashed));
    assert_eq!(scene.status("evt_1").await, "settled");
    assert_eq!(scene.next_batch().await, ALL_DONE);
    assert_eq!((scene.attempts("evt_1").await, scene.effects("sub_1").await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_connection_lost_after_commit_was_sent_there_is_one_effect() {
    let scene = Scene::new("commit_answer_lost").await;
    scene.accept(&event("evt_1", "sub_1")).await;
    scene.hookledger.postgres.lose_commit_answers(1);
    // It cannot tell whether it has settled the event, so the message must come back.
    assert_eq!(scene.next_batch().await, Polled::Invoked { deleted: 0, failed: 1 });
    assert_eq!(scene.hookledger.postgres.lose_commit_answers(0), 0);
    assert_eq!(scene.status("evt_1").await, "settled");
    assert_eq!(scene.next_batch().await, ALL_DONE);
    assert_eq!((scene.attempts("evt_1").await, scene.effects("sub_1").await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_connection_cut_before_commit_the_event_is_tried_again() {
    let scene = Scene::new("cut_before_commit").await;
    scene.accept(&event("evt_1", "sub_1")).await;
    scene.slow_handlers(1.0).await;
    let (polled, ()) = tokio::join!(scene.next_batch(), async {
        scene.until_a_handler_dawdles().await;
        scene.hookledger.postgres.cut();
    });
    assert_eq!(polled, Polled::Invoked { deleted: 0, failed: 1 });
    scene.slow_handlers(0.0).await;
    scene.sweep_after(120).await;
    scene.settle("evt_1").await;
    assert_eq!((scene.attempts("evt_1").await, scene.effects("sub_1").await), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_workers_on_one_row_one_works_and_the_other_lets_the_message_come_back() {
    let scene = Scene::new("two_workers").await;
    scene.accept(&event("evt_1", "sub_1")).await;
    scene.slow_handlers(1.0).await;
    let (first, second) = tokio::join!(scene.work_on("evt_1"), async {
        scene.until_a_handler_dawdles().await;
        scene.work_on("evt_1").await
    });
    assert!(!first.contains("itemIdentifier") && second.contains("itemIdentifier"), "{first} {second}");
    assert_eq!(scene.hookledger.worker.started(), 2);
    assert_eq!((scene.attempts("evt_1").await, scene.effects("sub_1").await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_lease_went_to_another_changes_nothing_when_it_is_done() {
    let scene = Scene::new("zombie").await;
    scene.accept(&event("evt_1", "sub_1")).await;
    scene.slow_handlers(2.0).await;
    let (zombie, successor) = tokio::join!(scene.work_on("evt_1"), async {
        scene.until_a_handler_dawdles().await;
        // Its lease is over while it sleeps, and another one takes the event.
        let over = "UPDATE webhook_event SET lease_until = clock_timestamp() WHERE event_id = 'evt_1'";
        scene.sql.batch_execute(over).await.unwrap();
        scene.work_on("evt_1").await
    });
    assert!(zombie.contains("itemIdentifier") && !successor.contains("itemIdentifier"), "{zombie} {successor}");
    assert_eq!((scene.attempts("evt_1").await, scene.effects("sub_1").await), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_dies_on_each_attempt_ends_in_dead_letter_and_its_neighbours_do_not() {
    let scene = Scene::new("always_killed").await;
    scene.accept(&event("evt_1", "sub_1")).await;
    scene.slow_handlers(2.0).await;
    for _ in 0..5 {
        let killed = async {
            scene.until_a_handler_dawdles().await;
            assert!(scene.hookledger.worker.kill(0));
        };
        let invoked = scene.hookledger.worker.invoke(message("evt_1"));
        let (result, ()) = tokio::join!(invoked, killed);
        assert_eq!(result.unwrap_err(), InvokeError::Crashed);
        // The killed worker's session ends with its statement.
        scene.until("the session to end", IDLE).await;
        let over = "UPDATE webhook_event SET lease_until = clock_timestamp() WHERE status = 'processing'";
        scene.sql.batch_execute(over).await.unwrap();
    }
    scene.slow_handlers(0.0).await;
    scene.accept(&event("evt_2", "sub_2")).await;
    scene.settle("evt_2").await;
    scene.sweep_after(0).await;
    assert_eq!((scene.status("evt_1").await.as_str(), scene.effects("sub_1").await), ("dead_letter", 0));
    assert_eq!((scene.attempts("evt_2").await, scene.effects("sub_2").await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_takes_too_long_is_given_up_and_the_event_tried_again() {
    let scene = Scene::new("handler_too_slow").await;
    scene.accept(&event("evt_1", "sub_1")).await;
    // Longer than a handler may take, shorter than the function's own time.
    scene.slow_handlers(12.0).await;
    let polled = scene.next_batch().await;
    assert_eq!(polled, Polled::Invoked { deleted: 0, failed: 1 });
    assert_eq!(scene.status("evt_1").await, "failed");
    scene.slow_handlers(0.0).await;
    scene.sweep_after(120).await;
    scene.settle("evt_1").await;
    assert_eq!((scene.attempts("evt_1").await, scene.effects("sub_1").await), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_that_is_added_under_warm_connections_disturbs_nobody() {
    let scene = Scene::new("column_added").await;
    for number in 1..=3 {
        let (id, subscription) = (format!("evt_{number}"), format!("sub_{number}"));
        scene.accept(&event(&id, &subscription)).await;
        let add = format!(
            "ALTER TABLE webhook_event ADD COLUMN later_{number} text; ALTER TABLE subscription ADD COLUMN later_{number} text"
        );
        scene.sql.batch_execute(&add).await.unwrap();
        scene.settle(&id).await;
        assert_eq!((scene.attempts(&id).await, scene.effects(&subscription).await), (1, 1));
    }
    assert_eq!((scene.hookledger.receiver.started(), scene.hookledger.worker.started()), (1, 1));
}

const IDLE: &str =
    "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep')";

fn message(id: &str) -> String {
    let body = serde_json::json!({ "source": "stripe", "event_id": id }).to_string();
    let record = serde_json::json!({ "messageId": "m", "receiptHandle": "r", "body": body });
    serde_json::json!({ "Records": [record] }).to_string()
}
