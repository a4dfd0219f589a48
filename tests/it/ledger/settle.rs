use std::time::Duration;

use hookledger_core::{Outcome, Settlement};
use hookledger_ledger::NotSettled;

use crate::ground::{Ground, event};

#[tokio::test]
async fn business_rows_and_the_ledger_row_commit_together() {
    let mut ground = Ground::new("settle_together").await;
    let lease = ground.leased("evt_1").await;
    let done = ground.settle(lease, "INSERT INTO subscription VALUES ('s', 'p', 'active', 1)").await.unwrap();
    assert_eq!(done[0].outcome, Outcome::Applied);
    ground.check_read("SELECT status, outcome, attempts FROM webhook_event", "(settled,applied,1)").await;
    ground.check_read("SELECT count(*) FROM subscription", "(1)").await;
}

#[tokio::test]
async fn work_that_is_dropped_leaves_nothing() {
    let mut ground = Ground::new("settle_dropped").await;
    ground.leased("evt_1").await;
    let work = ground.ledger.begin().await.unwrap();
    work.transaction().batch_execute("INSERT INTO subscription VALUES ('s', 'p', 'active', 1)").await.unwrap();
    drop(work);
    ground.check_read("SELECT status FROM webhook_event", "(processing)").await;
    ground.check_read("SELECT count(*) FROM subscription", "(0)").await;
}

#[tokio::test]
async fn a_commit_that_is_refused_settles_nothing() {
    let mut ground = Ground::new("settle_refused").await;
    ground
        .run(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION $s$not so$s$; END';
             CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON subscription DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION refuse()",
        )
        .await;
    let lease = ground.leased("evt_1").await;
    let insert = "INSERT INTO subscription VALUES ('s', 'p', 'active', 1)";
    let unsettled = ground.settle(lease, insert).await.unwrap_err();
    assert!(matches!(unsettled.why, NotSettled::Refused(_)), "{:?}", unsettled.why);
    ground.check_read("SELECT status FROM webhook_event", "(processing)").await;
    ground.check_read("SELECT count(*) FROM subscription", "(0)").await;
    // The connection is as good as new.
    let lease = unsettled.leases.into_iter().next().unwrap();
    ground.settle(lease, "SELECT 1").await.unwrap();
    ground.check_read("SELECT status FROM webhook_event", "(settled)").await;
}

#[tokio::test]
async fn a_failure_is_recorded_without_counting_and_cut_to_size() {
    let mut ground = Ground::new("settle_failed").await;
    let lease = ground.leased("evt_1").await;
    let error = format!("nul \0 {}", "é".repeat(5000));
    ground.ledger.fail(lease, Settlement::RetryIn(Duration::from_secs(30)), &error).await.unwrap();
    let row = "SELECT status, attempts, length(last_error), round(extract(epoch FROM next_attempt_at - now()) / 10) FROM webhook_event";
    ground.check_read(row, "(failed,1,1000,3)").await;
}

#[tokio::test]
async fn impossible_rows_are_refused_by_name() {
    let mut ground = Ground::new("settle_impossible").await;
    ground.claim(&event("evt_1")).await;
    for (change, constraint) in [
        ("status = 'settled'", "webhook_event_outcome_when_settled"),
        ("status = 'processing', attempts = 1", "webhook_event_lease_when_processing"),
        ("outcome = 'applied'", "webhook_event_outcome_when_settled"),
        ("status = 'failed', attempts = 1", "webhook_event_due_when_failed"),
        ("status = 'processing', lease_until = now()", "webhook_event_attempted"),
        ("settled_at = now()", "webhook_event_settled_at_when_done"),
        ("lease_until = now()", "webhook_event_lease_when_processing"),
        ("next_attempt_at = now()", "webhook_event_due_when_failed"),
        ("attempts = -1", "webhook_event_attempted"),
        ("status = 'settled', settled_at = now(), outcome = 'lost'", "webhook_event_outcome_known"),
        ("status = 'dead_letter'", "webhook_event_settled_at_when_done"),
        ("account = 'a'", "webhook_event_object_whole"),
        ("status = 'lost'", "webhook_event_status_known"),
        ("lifecycle = 'lost'", "webhook_event_lifecycle_known"),
        ("via = 'lost'", "webhook_event_via_known"),
        ("source = ''", "webhook_event_source_fits"),
        ("event_id = repeat('x', 256)", "webhook_event_id_fits"),
    ] {
        let error = ground.sql.batch_execute(&format!("UPDATE webhook_event SET {change}")).await.unwrap_err();
        assert_eq!(error.as_db_error().unwrap().constraint(), Some(constraint), "{change}");
    }
}

/// Where the connection is driven by another thread, a settlement can be answered before the one that sent it has waited for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_settlement_that_is_answered_at_once_is_committed_too() {
    let mut ground = Ground::new("settle_at_once").await;
    for n in 0..200 {
        let lease = ground.leased(&format!("evt_{n}")).await;
        let work = ground.ledger.begin().await.unwrap();
        assert_eq!(work.settle(vec![(lease, Outcome::Applied)]).await.unwrap().len(), 1);
    }
    ground.check_read("SELECT status, count(*) FROM webhook_event GROUP BY status", "(settled,200)").await;
}
