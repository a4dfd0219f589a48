use hookledger_core::{Candidate, Event, Lifecycle, Outcome, VerifiedEvent};
use hookledger_ledger::{Guard, Tie};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::ground::{Ground, event_with};

/// The body of a test event is `{"object": …, "previous": …}`.
fn candidate(event: &Event) -> Candidate {
    let body: Value = serde_json::from_slice(&event.body).unwrap();
    let previous = Some(body["previous"].clone()).filter(|previous| !previous.is_null());
    Candidate {
        event_id: event.event_id.clone(),
        lifecycle: event.lifecycle,
        object: Some(body["object"].clone()),
        previous,
    }
}

fn version(id: &str, second: i64, lifecycle: Lifecycle, object: Value, previous: Value) -> VerifiedEvent {
    let body = json!({ "object": object, "previous": previous }).to_string();
    event_with(id, Some(second * 1_000_000), lifecycle, body.as_bytes())
}

impl Ground {
    async fn process(&mut self, event: &VerifiedEvent) -> (Outcome, Tie) {
        self.process_batch(std::slice::from_ref(event)).await.remove(0)
    }

    /// Delivers events and processes them as the worker does, writing an object's value as the subscription's plan.
    async fn process_batch(&mut self, events: &[VerifiedEvent]) -> Vec<(Outcome, Tie)> {
        for event in events {
            self.claim(event).await;
        }
        self.run("UPDATE webhook_event SET status = 'claimed', attempts = 0, settled_at = NULL, outcome = NULL").await;
        let mut leases = Vec::new();
        for event in events {
            leases.push(self.lease(event.identity().event_id.as_str()).await);
        }
        let guarded: Vec<&Event> = leases.iter().map(|lease| lease.event.as_ref().unwrap()).collect();
        let (work, guards) = self.ledger.begin_guarded(&guarded, &candidate).await.unwrap();
        let mut ends = Vec::new();
        for (event, guard) in guarded.into_iter().zip(guards) {
            let (newest, outcome, tie) = match guard {
                Guard::Newest { tie } => (Some(event.clone()), Outcome::Applied, tie),
                Guard::Stale => (None, Outcome::Stale, Tie::None),
                Guard::Other { newest, tie } => (Some(*newest), Outcome::Stale, tie),
            };
            if let Some(event) = newest {
                let plan = candidate(&event).object.unwrap()["plan"].to_string().replace('\'', "");
                let upsert = format!(
                    "INSERT INTO subscription VALUES ('sub_1', '{plan}', '{}', 0)
                     ON CONFLICT (subscription_id) DO UPDATE SET plan = excluded.plan, state = excluded.state",
                    event.event_id
                );
                work.transaction().batch_execute(&upsert).await.unwrap();
            }
            ends.push((outcome, tie));
        }
        work.settle(leases.into_iter().zip(ends.iter().map(|(outcome, _)| *outcome)).collect()).await.unwrap();
        ends
    }

    async fn in_force(&self) -> String {
        self.read("SELECT plan, state FROM subscription").await
    }

    async fn forget(&self) {
        self.run("TRUNCATE webhook_event, webhook_payload, webhook_object, subscription").await;
    }
}

#[tokio::test]
async fn an_older_version_is_stale() {
    let mut ground = Ground::new("guard_stale").await;
    let [v1, v2, v3] =
        [1, 2, 3].map(|n| version(&format!("v{n}"), n, Lifecycle::Updated, json!({ "plan": n }), Value::Null));
    assert_eq!(ground.process(&v1).await.0, Outcome::Applied);
    assert_eq!(ground.process(&v3).await.0, Outcome::Applied);
    assert_eq!(ground.process(&v2).await.0, Outcome::Stale);
    assert_eq!(ground.in_force().await, "(3,v3)");
}

#[tokio::test]
async fn a_guard_outside_of_a_transaction_is_refused() {
    let ground = Ground::new("guard_outside").await;
    let call = "SELECT webhook_guard('{s}', '{a}', '{k}', '{o}', '{1}', '{f}', '{e}')";
    let refused = ground.sql.query(call, &[]).await.unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "25P01", "{refused:?}");
    ground.check_read("SELECT event_id FROM webhook_object", "").await;
}

#[tokio::test]
async fn nothing_resurrects_a_deleted_object() {
    let mut ground = Ground::new("guard_deleted").await;
    let deleted = version("gone", 5, Lifecycle::Deleted, json!({ "plan": 0 }), Value::Null);
    let late = version("late", 9, Lifecycle::Updated, json!({ "plan": 9 }), Value::Null);
    assert_eq!(ground.process(&deleted).await.0, Outcome::Applied);
    assert_eq!(ground.process(&late).await.0, Outcome::Stale);
    ground.forget().await;
    // The other way round the deletion is older, and wins all the same.
    assert_eq!(ground.process(&late).await.0, Outcome::Applied);
    assert_eq!(ground.process(&deleted).await.0, Outcome::Applied);
    assert_eq!(ground.in_force().await, "(0,gone)");
}

#[tokio::test]
async fn a_missing_link_that_arrives_last_puts_the_right_end_of_the_chain_in_force() {
    let mut ground = Ground::new("guard_link").await;
    let a = version("z", 1, Lifecycle::Updated, json!({ "plan": 1 }), json!({ "plan": 0 }));
    let b = version("y", 1, Lifecycle::Updated, json!({ "plan": 2 }), json!({ "plan": 1 }));
    let c = version("x", 1, Lifecycle::Updated, json!({ "plan": 3 }), json!({ "plan": 2 }));
    assert_eq!(ground.process(&a).await, (Outcome::Applied, Tie::None));
    assert_eq!(ground.process(&c).await, (Outcome::Stale, Tie::None));
    assert_eq!(ground.in_force().await, "(1,z)");
    assert_eq!(ground.process(&b).await, (Outcome::Stale, Tie::Resolved));
    assert_eq!(ground.in_force().await, "(3,x)");
}

#[tokio::test]
async fn a_tie_that_nothing_resolves_is_said_to_be_one() {
    let mut ground = Ground::new("guard_unresolved").await;
    let [a, b] = ["a", "b"].map(|id| version(id, 1, Lifecycle::Updated, json!({ "plan": id }), Value::Null));
    assert_eq!(ground.process(&a).await, (Outcome::Applied, Tie::None));
    assert_eq!(ground.process(&b).await, (Outcome::Applied, Tie::Unresolved));
}

#[tokio::test]
async fn a_version_far_in_the_future_does_not_freeze_the_object() {
    let mut ground = Ground::new("guard_future").await;
    let now_s: i64 = ground.sql.query_typed("SELECT extract(epoch FROM now())::int8", &[]).await.unwrap()[0].get(0);
    let year_s = 365 * 86_400;
    let broken_clock = version("broken", now_s + year_s, Lifecycle::Updated, json!({ "plan": 1 }), Value::Null);
    ground.process(&broken_clock).await;
    let in_ten_minutes = version("next", now_s + 600, Lifecycle::Updated, json!({ "plan": 2 }), Value::Null);
    ground.run("UPDATE webhook_object SET version = version - 600000000").await;
    assert_eq!(ground.process(&in_ten_minutes).await.0, Outcome::Applied);
}

/// Events of one object: seconds collide, some know what they changed, some are creations or deletions.
fn history() -> impl Strategy<Value = Vec<VerifiedEvent>> {
    let one = (0..3_i64, 0..4_u8, 0..3_u8, prop::option::of(0..3_u8));
    prop::collection::vec(one, 1..6).prop_map(|events| {
        let event = |(n, (second, stage, plan, previous)): (usize, (i64, u8, u8, Option<u8>))| {
            let lifecycle = match stage {
                0 => Lifecycle::Created,
                3 => Lifecycle::Deleted,
                _ => Lifecycle::Updated,
            };
            let previous = previous.map_or(Value::Null, |plan| json!({ "plan": plan }));
            version(&format!("e{n}"), second, lifecycle, json!({ "plan": plan }), previous)
        };
        events.into_iter().enumerate().map(event).collect()
    })
}

#[test]
fn every_permutation_with_repeats_ends_in_the_same_state() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut ground = runtime.block_on(Ground::new("guard_permutations"));
    let orders = history().prop_flat_map(|events| {
        let twice: Vec<_> = events.iter().chain(&events).cloned().collect();
        (Just(events), Just(twice).prop_shuffle())
    });
    let config = ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() };
    let ground = std::cell::RefCell::new(&mut ground);
    let result = TestRunner::new(config).run(&orders, |(events, shuffled)| {
        let mut ground = ground.borrow_mut();
        let (in_order, in_any_order) = runtime.block_on(async {
            let mut ends = Vec::new();
            for order in [events, shuffled] {
                ground.forget().await;
                for event in &order {
                    ground.process(event).await;
                }
                ends.push(ground.in_force().await);
            }
            (ends.remove(0), ends.remove(0))
        });
        prop_assert_eq!(in_order, in_any_order);
        Ok(())
    });
    result.unwrap();
}

#[test]
fn a_batch_is_guarded_as_its_events_would_be_one_after_the_other() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut ground = runtime.block_on(Ground::new("guard_batch"));
    let config = ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() };
    let ground = std::cell::RefCell::new(&mut ground);
    let result = TestRunner::new(config).run(&history().prop_shuffle(), |events| {
        let mut ground = ground.borrow_mut();
        let (one_by_one, at_once) = runtime.block_on(async {
            let memory = "SELECT version, deleted, event_id, tied_event_ids FROM webhook_object";
            ground.forget().await;
            let mut ends = Vec::new();
            for event in &events {
                ends.push(ground.process(event).await);
            }
            let one_by_one = (ends, ground.in_force().await, ground.read(memory).await);
            ground.forget().await;
            let ends = ground.process_batch(&events).await;
            (one_by_one, (ends, ground.in_force().await, ground.read(memory).await))
        });
        prop_assert_eq!(one_by_one, at_once);
        Ok(())
    });
    result.unwrap();
}
