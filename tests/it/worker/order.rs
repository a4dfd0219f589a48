use futures_util::future::BoxFuture;
use hookledger_core::{Event, HandlerError, Lifecycle, Outcome};
use hookledger_ledger::Transaction;
use worker::Route;
use worker::handlers::ROUTES;

use super::batch::deliver;
use super::handlers::{SNAPSHOT, apply};
use crate::ground::{Ground, event_with};

pub(super) fn subscription(
    id: &str,
    second: i64,
    plan: &str,
    lifecycle: Lifecycle,
    previous: &str,
) -> hookledger_core::VerifiedEvent {
    let body = format!(
        r#"{{"object":"event","data":{{"object":{{"id":"sub_1","object":"subscription","status":"active","items":{{"data":[{{"price":{{"id":"{plan}"}}}}]}},"n":"{plan}"}}{previous}}}}}"#
    );
    event_with(id, Some(second * 1_000_000), lifecycle, body.as_bytes())
}

const SUBSCRIPTION: &str = "SELECT plan, state FROM subscription";

#[tokio::test]
async fn the_worked_example_ends_with_the_newest_version_however_they_arrive() {
    let mut ground = Ground::new("order_example").await;
    ground.claim(&subscription("v1", 1, "starter", Lifecycle::Created, "")).await;
    ground.claim(&subscription("v3", 3, "team", Lifecycle::Updated, "")).await;
    ground.claim(&subscription("v2", 2, "plus", Lifecycle::Updated, "")).await;
    let mut worker = ground.worker(ROUTES);
    for id in ["v3", "v1", "v2"] {
        assert_eq!(deliver(&mut worker, &[id]).await, [""; 0]);
    }
    ground.check_read(SUBSCRIPTION, "(team,active)").await;
    ground.check_read("SELECT event_id, outcome FROM webhook_event ORDER BY 1", "(v1,stale) (v2,stale) (v3,applied)").await;
}

#[tokio::test]
async fn a_deleted_subscription_is_canceled_and_stays_so() {
    let mut ground = Ground::new("order_deleted").await;
    ground.claim(&subscription("gone", 5, "team", Lifecycle::Deleted, "")).await;
    ground.claim(&subscription("late", 9, "plus", Lifecycle::Updated, "")).await;
    ground.claim(&subscription("reborn", 9, "starter", Lifecycle::Created, "")).await;
    let mut worker = ground.worker(ROUTES);
    // Each by itself: in one batch the guard sees them all before the first is applied.
    for id in ["gone", "late", "reborn"] {
        assert_eq!(deliver(&mut worker, &[id]).await, [""; 0]);
    }
    ground.check_read(SUBSCRIPTION, "(team,canceled)").await;
    let outcomes = "(gone,applied) (late,stale) (reborn,stale)";
    ground.check_read("SELECT event_id, outcome FROM webhook_event ORDER BY 1", outcomes).await;
}

#[tokio::test]
async fn two_updates_in_one_second_are_told_apart_by_what_they_changed() {
    let mut ground = Ground::new("order_tie").await;
    let previous = r#","previous_attributes":{"n":"plus"}"#;
    ground.claim(&subscription("b", 1, "plus", Lifecycle::Updated, "")).await;
    ground.claim(&subscription("a", 1, "team", Lifecycle::Updated, previous)).await;
    let mut worker = ground.worker(ROUTES);
    for order in [["a", "b"], ["b", "a"]] {
        for id in order {
            deliver(&mut worker, &[id]).await;
        }
        ground.check_read(SUBSCRIPTION, "(team,active)").await;
        ground.run("UPDATE webhook_event SET status = 'claimed', attempts = 0, settled_at = NULL, outcome = NULL").await;
        ground.run("TRUNCATE webhook_object, subscription").await;
    }
}

#[tokio::test]
async fn events_of_one_object_that_come_in_one_batch_are_guarded_like_any_others() {
    let mut ground = Ground::new("order_batch").await;
    let previous = r#","previous_attributes":{"n":"plus"}"#;
    ground.claim(&subscription("a", 2, "team", Lifecycle::Updated, previous)).await;
    ground.claim(&subscription("b", 2, "plus", Lifecycle::Updated, "")).await;
    ground.claim(&subscription("c", 1, "starter", Lifecycle::Created, "")).await;
    ground.claim(&subscription("d", 3, "max", Lifecycle::Deleted, "")).await;
    ground.claim(&subscription("e", 4, "late", Lifecycle::Updated, "")).await;
    assert_eq!(deliver(&mut ground.worker(ROUTES), &["e", "d", "c", "b", "a"]).await, [""; 0]);
    let outcomes = "(a,applied) (b,stale) (c,stale) (d,applied) (e,stale)";
    ground.check_read("SELECT event_id, outcome FROM webhook_event ORDER BY 1", outcomes).await;
    ground.check_read(SUBSCRIPTION, "(max,canceled)").await;
}

/// Asks the provider, so to speak.
fn fetch<'a>(transaction: &'a Transaction<'a>, _: &'a Event) -> BoxFuture<'a, Result<Outcome, HandlerError>> {
    Box::pin(async move {
        transaction.batch_execute("INSERT INTO subscription VALUES ('sub_1', 'as the provider says', 'fetched', 1)").await?;
        Ok(Outcome::Applied)
    })
}

const FETCHING: &[Route] = &[Route::snapshot("stripe", "customer.subscription.*", apply).on_unresolved_tie(fetch)];

#[tokio::test]
async fn a_tie_that_nothing_resolves_can_be_fetched_under_the_row_lock() {
    let mut ground = Ground::new("order_fetched").await;
    ground.claim(&subscription("a", 1, "plus", Lifecycle::Updated, "")).await;
    ground.claim(&subscription("b", 1, "team", Lifecycle::Updated, "")).await;
    let mut worker = ground.worker(FETCHING);
    deliver(&mut worker, &["a"]).await;
    deliver(&mut worker, &["b"]).await;
    ground.check_read("SELECT subscription_id, state FROM subscription ORDER BY 1", "(a,state) (sub_1,fetched)").await;
}

#[tokio::test]
async fn workers_with_the_same_objects_in_opposite_order_do_not_lose_an_attempt() {
    let mut ground = Ground::new("order_deadlock").await;
    for round in 0..10 {
        let ids: Vec<String> = (0..8).map(|n| format!("{round}-{n}")).collect();
        for (n, id) in ids.iter().enumerate() {
            let mut event = subscription(id, i64::from(round), "plan", Lifecycle::Updated, "");
            if n % 2 == 1 {
                event = subscription(id, i64::from(round) + 1, "plan", Lifecycle::Updated, "");
            }
            ground.claim(&event).await;
        }
        let forwards: Vec<&str> = ids.iter().take(4).map(String::as_str).collect();
        let backwards: Vec<&str> = ids.iter().skip(4).rev().map(String::as_str).collect();
        let (mut one, mut other) = (ground.worker(SNAPSHOT), ground.worker(SNAPSHOT));
        let (a, b) = tokio::join!(deliver(&mut one, &forwards), deliver(&mut other, &backwards));
        assert_eq!((a, b), (vec![], vec![]));
    }
    ground.check_read("SELECT max(attempts), min(status), max(status) FROM webhook_event", "(1,settled,settled)").await;
}
