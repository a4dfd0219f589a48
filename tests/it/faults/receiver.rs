//! The receiver's faults: between the delivery and the message.

use std::time::{Duration, Instant};

use hookledger_harness::deployment::DeploymentOptions;
use hookledger_harness::faults::{PostgresFault, SqsFault};
use hookledger_harness::lambda::api_gateway::{HttpRequest, deliver};

use super::scene::{Scene, event};

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_its_answer_and_before_the_queue_has_the_message_the_sweeper_recovers() {
    let scene = Scene::new("killed_before_send").await;
    scene.hookledger.sqs.set(SqsFault::Delay(Duration::from_secs(30)));
    assert_eq!(scene.deliver(&event("evt_1", "sub_1")).await.status, 200);
    scene.until_so("the receiver to send", || scene.hookledger.sqs.sends() > 0).await;
    assert!(scene.hookledger.receiver.kill(0));
    assert_eq!(scene.status("evt_1").await, "claimed");
    scene.hookledger.sqs.set(SqsFault::None);
    scene.sweep_after(61).await;
    scene.settle("evt_1").await;
    assert_eq!(scene.effects("sub_1").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_its_answer_and_never_redelivered_the_sweeper_recovers() {
    let scene = Scene::new("killed_at_answer").await;
    scene.hookledger.sqs.set(SqsFault::Refuse);
    scene.hookledger.receiver.crash_at_answers(1);
    assert_eq!(scene.deliver(&event("evt_1", "sub_1")).await.status, 500);
    assert_eq!(scene.status("evt_1").await, "claimed");
    scene.hookledger.sqs.set(SqsFault::None);
    scene.sweep_after(61).await;
    scene.settle("evt_1").await;
    assert_eq!(scene.effects("sub_1").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_that_fails_after_the_claim_is_answered_with_200_and_the_sweeper_recovers() {
    let scene = Scene::new("send_fails").await;
    scene.hookledger.sqs.set(SqsFault::Refuse);
    scene.accept(&event("evt_1", "sub_1")).await;
    assert_eq!(scene.status("evt_1").await, "claimed");
    scene.hookledger.sqs.set(SqsFault::None);
    scene.sweep_after(61).await;
    scene.settle("evt_1").await;
    assert_eq!(scene.effects("sub_1").await, 1);
    assert!(scene.words().contains("enqueue_failed"), "{}", scene.words());
}

#[tokio::test(flavor = "multi_thread")]
async fn with_postgres_unreachable_an_event_is_spilled_and_drained_with_its_first_received_at() {
    for (name, fault) in [("refused", PostgresFault::Refuse), ("black_hole", PostgresFault::BlackHole)] {
        let scene = Scene::new(&format!("spilled_{name}")).await;
        scene.hookledger.postgres.set(fault);
        let before: f64 = scene.ask("SELECT extract(epoch FROM clock_timestamp())::float8 WHERE $1 = ''", "").await;
        // So that what is measured is not how long a debug build takes to start.
        let health = HttpRequest { method: "GET", ..HttpRequest::post("/health", &[], "") };
        assert_eq!(deliver(&scene.hookledger.receiver, &health).await.status, 200);
        let start = Instant::now();
        scene.accept(&event("evt_1", "sub_1")).await;
        // What Slack waits for.
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        let after: f64 = scene.ask("SELECT extract(epoch FROM clock_timestamp())::float8 WHERE $1 = ''", "").await;
        assert_eq!(scene.status("evt_1").await, "none");
        scene.hookledger.postgres.set(PostgresFault::None);
        while scene.status("evt_1").await != "settled" {
            scene.hookledger.spill.poll(1).await.unwrap();
        }
        let first = "SELECT extract(epoch FROM received_at)::float8 FROM webhook_event WHERE event_id = $1";
        let received: f64 = scene.ask(first, "evt_1").await;
        assert!(before <= received && received <= after, "{before} {received} {after}");
        assert_eq!(scene.ask::<String>("SELECT via FROM webhook_event WHERE event_id = $1", "evt_1").await, "spill");
        assert_eq!(scene.effects("sub_1").await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_postgres_and_the_queue_unreachable_the_answer_is_503_with_retry_after() {
    let scene = Scene::new("both_unreachable").await;
    scene.hookledger.postgres.set(PostgresFault::Refuse);
    scene.hookledger.sqs.set(SqsFault::Refuse);
    let answer = scene.deliver(&event("evt_1", "sub_1")).await;
    assert_eq!((answer.status, answer.headers["retry-after"].as_str()), (503, "30"));
    scene.hookledger.postgres.set(PostgresFault::None);
    scene.hookledger.sqs.set(SqsFault::None);
    scene.accept(&event("evt_1", "sub_1")).await;
    scene.settle("evt_1").await;
    assert_eq!(scene.effects("sub_1").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_that_arrives_while_a_worker_holds_the_row_is_answered_before_the_row_is_free() {
    let scene = Scene::new("duplicate_while_held").await;
    scene.accept(&event("evt_1", "sub_1")).await;
    scene.slow_handlers(6.0).await;
    let (_, ()) = tokio::join!(scene.next_batch(), async {
        scene.until_a_handler_dawdles().await;
        let start = Instant::now();
        let answer = scene.deliver(&event("evt_1", "sub_1")).await;
        assert_eq!((answer.status, answer.field("outcome").as_deref()), (200, Some("duplicate")));
        // The functions are debug builds on a machine that does other things, and the row is still held:
        assert_eq!(scene.status("evt_1").await, "processing");
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    });
    assert_eq!((scene.status("evt_1").await.as_str(), scene.effects("sub_1").await), ("settled", 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_terminated_between_two_invocations_costs_nothing_but_a_new_one() {
    let scene =
        Scene::with("terminated", DeploymentOptions { receivers: 1, workers: 1, ..DeploymentOptions::default() }).await;
    let terminate = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND $1 = ''";
    for number in 1..=3 {
        let (id, subscription) = (format!("evt_{number}"), format!("sub_{number}"));
        scene.accept(&event(&id, &subscription)).await;
        assert_eq!(scene.ask::<i64>(terminate, "").await, if number == 1 { 1 } else { 2 });
        scene.settle(&id).await;
        assert_eq!((scene.attempts(&id).await, scene.effects(&subscription).await), (1, 1));
    }
    assert_eq!((scene.hookledger.receiver.started(), scene.hookledger.worker.started()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn in_observe_mode_a_duplicate_is_counted_and_processed_all_the_same() {
    let scene = Scene::with("observe", DeploymentOptions::default().variable("CLAIM_MODE", "observe")).await;
    let event = event("evt_1", "sub_1");
    scene.accept(&event).await;
    scene.settle("evt_1").await;
    let answer = scene.deliver(&event).await;
    assert_eq!((answer.status, answer.field("outcome").as_deref()), (200, Some("duplicate")));
    assert_eq!(scene.status("evt_1").await, "claimed");
    scene.settle("evt_1").await;
    assert_eq!(scene.ask::<i32>("SELECT would_skip FROM webhook_event WHERE event_id = $1", "evt_1").await, 1);
    scene.until_so("the duplicate's record", || scene.words().contains("would_skip")).await;
}
