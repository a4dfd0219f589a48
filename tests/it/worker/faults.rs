use hookledger_core::Settlement;
use std::time::Duration;

use super::batch::{batch_of, deliver, message};
use super::handlers::{DELTA, NOTHING};
use crate::ground::{Ground, event, key};

const ROWS: &str = "SELECT event_id, status, outcome, attempts FROM webhook_event ORDER BY event_id";
const EFFECTS: &str = "SELECT subscription_id FROM subscription ORDER BY 1";
/// As if every wait was over.
const PASS: &str = "UPDATE webhook_event SET next_attempt_at = clock_timestamp() - interval '1 s' WHERE status = 'failed'";

async fn ground(name: &str, ids: &[&str]) -> Ground {
    let mut ground = Ground::new(name).await;
    for id in ids {
        ground.claim(&event(id)).await;
    }
    ground
}

#[tokio::test]
async fn a_batch_is_settled_in_two_commits() {
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let ground = ground("worker_commits", &ids).await;
    let commits = "SELECT count(DISTINCT xmin::text) FROM subscription";
    let mut worker = ground.worker(DELTA);
    assert_eq!(deliver(&mut worker, &ids).await, [""; 0]);
    ground.check_read("SELECT status, count(*) FROM webhook_event GROUP BY 1", "(settled,10)").await;
    // One transaction wrote all effects and all settlements, and the lease had one of its own before it.
    ground.check_read(commits, "(1)").await;
    ground
        .check_read("SELECT count(DISTINCT e.xmin::text) FROM webhook_event e, subscription s WHERE e.xmin = s.xmin", "(1)")
        .await;
}

#[tokio::test]
async fn one_events_failure_undoes_only_its_own_writes() {
    let ids = ["a", "fail-1", "b", "panic-1", "c", "permanent-1", "swallow-1"];
    let ground = ground("worker_failure", &ids).await;
    let mut worker = ground.worker(DELTA);
    assert_eq!(deliver(&mut worker, &ids).await, ["fail-1", "panic-1", "swallow-1"]);
    let rows = "(a,settled,applied,1) (b,settled,applied,1) (c,settled,applied,1) (fail-1,failed,,1) (panic-1,failed,,1) \
                (permanent-1,dead_letter,,1) (swallow-1,failed,,1)";
    ground.check_read(ROWS, rows).await;
    ground.check_read(EFFECTS, "(a) (b) (c)").await;
    let words =
        "SELECT last_error FROM webhook_event WHERE last_error IS NOT NULL AND event_id <> 'swallow-1' ORDER BY event_id";
    let errors = r#"("not today") ("the handler panicked: as asked") ("never going to work")"#;
    ground.check_read(words, errors).await;
}

#[tokio::test]
async fn a_handler_that_always_panics_is_a_dead_letter_at_the_fifth_attempt() {
    let ground = ground("worker_panics", &["panic-1"]).await;
    let mut worker = ground.worker(DELTA);
    for _ in 1..5 {
        assert_eq!(deliver(&mut worker, &["panic-1"]).await, ["panic-1"]);
        ground.run(PASS).await;
    }
    assert_eq!(deliver(&mut worker, &["panic-1"]).await, [""; 0]);
    ground.check_read(ROWS, "(panic-1,dead_letter,,5)").await;
    ground.check_read(EFFECTS, "").await;
}

#[tokio::test]
async fn a_handler_that_fails_once_is_applied_once() {
    let ground = ground("worker_once", &["once-1"]).await;
    let mut worker = ground.worker(DELTA);
    let mut returned = 0;
    while !deliver(&mut worker, &["once-1"]).await.is_empty() {
        ground.run(PASS).await;
        returned += 1;
    }
    assert_eq!(returned, 2);
    ground.check_read(ROWS, "(once-1,settled,applied,3)").await;
    ground.check_read(EFFECTS, "(once-1)").await;
}

#[tokio::test]
async fn a_handler_that_hangs_fails_in_time_and_does_not_hold_up_the_others() {
    let ground = ground("worker_hangs", &["a", "hang-1", "z"]).await;
    let mut worker = ground.worker(DELTA);
    let returned = deliver(&mut worker, &["a", "hang-1", "z"]).await;
    // There was no time left for one of them; it was not begun, and does not count.
    assert!(returned.contains(&"hang-1".to_owned()), "{returned:?}");
    ground.check_read("SELECT count(*) FROM webhook_event WHERE status = 'processing'", "(0)").await;
    ground
        .check_read(
            "SELECT status, last_error FROM webhook_event WHERE event_id = 'hang-1'",
            r#"(failed,"no end after 10 s")"#,
        )
        .await;
    let others: Vec<&str> = ["a", "z"].into_iter().filter(|id| returned.iter().any(|r| r == id)).collect();
    ground.check_read("SELECT count(*) FROM webhook_event WHERE event_id <> 'hang-1' AND attempts > 1", "(0)").await;
    if !others.is_empty() {
        assert_eq!(deliver(&mut worker, &others).await, [""; 0]);
    }
    ground.check_read(EFFECTS, "(a) (z)").await;
}

#[tokio::test]
async fn a_poison_event_does_not_take_its_neighbours_along() {
    let ground = ground("worker_poison", &["a", "abort-1", "z"]).await;
    // A process that was killed by the batch leaves all its leases behind, again and again.
    let mut worker = ground.worker(DELTA);
    for _ in 0..2 {
        let keys = ["a", "abort-1", "z"].map(key);
        for key in keys {
            drop(worker.ledger.lease_alone(&key, 5).await.unwrap());
        }
        ground.run("UPDATE webhook_event SET lease_until = clock_timestamp()").await;
    }
    // From the second attempt on each is leased alone: the neighbours are through before the poison's turn.
    assert_eq!(deliver(&mut worker, &["a", "z"]).await, [""; 0]);
    ground
        .check_read("SELECT event_id, status FROM webhook_event WHERE attempts = 3 ORDER BY 1", "(a,settled) (z,settled)")
        .await;
    for _ in 2..5 {
        drop(worker.ledger.lease_alone(&key("abort-1"), 5).await.unwrap());
        ground.run("UPDATE webhook_event SET lease_until = clock_timestamp() WHERE status = 'processing'").await;
    }
    // It killed the process each time; the one that gets the message then does not try it any more.
    assert_eq!(deliver(&mut worker, &["abort-1"]).await, [""; 0]);
    ground.check_read("SELECT status, attempts FROM webhook_event WHERE event_id = 'abort-1'", "(dead_letter,5)").await;
}

#[tokio::test]
async fn an_event_that_no_handler_takes_is_ignored() {
    let ground = ground("worker_ignored", &["a"]).await;
    assert_eq!(deliver(&mut ground.worker(NOTHING), &["a"]).await, [""; 0]);
    ground.check_read(ROWS, "(a,settled,ignored,1)").await;
}

#[tokio::test]
async fn a_message_that_comes_twice_takes_effect_once() {
    let ground = ground("worker_twice", &["a"]).await;
    let mut worker = ground.worker(DELTA);
    assert_eq!(deliver(&mut worker, &["a", "a"]).await, [""; 0]);
    assert_eq!(deliver(&mut worker, &["a"]).await, [""; 0]);
    ground.check_read(ROWS, "(a,settled,applied,1)").await;
    ground.check_read(EFFECTS, "(a)").await;
}

#[tokio::test]
async fn two_workers_with_one_message_apply_it_once() {
    let ground = ground("worker_two", &["a"]).await;
    let (mut one, mut other) = (ground.worker(DELTA), ground.worker(DELTA));
    let (a, b) = tokio::join!(deliver(&mut one, &["a"]), deliver(&mut other, &["a"]));
    assert!(a.is_empty() || b.is_empty());
    ground.check_read(ROWS, "(a,settled,applied,1)").await;
}

#[tokio::test]
async fn an_id_that_is_not_in_the_ledger_is_dropped_and_an_unreadable_message_comes_back() {
    let ground = ground("worker_unknown", &[]).await;
    let mut worker = ground.worker(DELTA);
    assert_eq!(deliver(&mut worker, &["nowhere"]).await, [""; 0]);
    let response = worker.batch(batch_of(&[message("x", "not a key")])).await;
    assert_eq!(response.batch_item_failures[0].item_identifier, "x");
}

#[tokio::test]
async fn a_session_that_was_terminated_between_two_batches_does_not_matter() {
    let ground = ground("worker_terminated", &["a", "b"]).await;
    let mut worker = ground.worker(DELTA);
    assert_eq!(deliver(&mut worker, &["a"]).await, [""; 0]);
    let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                  WHERE datname = current_database() AND pid <> pg_backend_pid()";
    ground.run(others).await;
    assert_eq!(deliver(&mut worker, &["b"]).await, [""; 0]);
    ground.check_read(EFFECTS, "(a) (b)").await;
}

#[tokio::test]
async fn a_retry_that_is_not_due_waits() {
    let mut ground = ground("worker_not_due", &[]).await;
    let lease = ground.leased("a").await;
    ground.ledger.fail(lease, Settlement::RetryIn(Duration::from_secs(60)), "x").await.unwrap();
    assert_eq!(deliver(&mut ground.worker(DELTA), &["a"]).await, ["a"]);
    ground.check_read(ROWS, "(a,failed,,1)").await;
}

#[tokio::test]
async fn an_event_whose_payload_is_past_retention_is_a_dead_letter() {
    let ground = ground("worker_payload", &["a"]).await;
    ground.run("DELETE FROM webhook_payload").await;
    assert_eq!(deliver(&mut ground.worker(DELTA), &["a"]).await, [""; 0]);
    ground
        .check_read("SELECT status, last_error FROM webhook_event", r#"(dead_letter,"its payload is past retention")"#)
        .await;
}
