use hookledger_core::{Claim, ClaimMode, Lifecycle, Status};
use hookledger_ledger::Grant;

use crate::ground::{Ground, event, event_of, event_with, key};

fn duplicate(status: Status, requeue: bool) -> Claim {
    Claim::Duplicate { status, requeue }
}

#[tokio::test]
async fn of_many_simultaneous_claims_one_is_new() {
    let ground = Ground::new("claim_many").await;
    let claims = (0..20).map(|_| {
        let mut ledger = ground.another();
        async move { ledger.claim(&[event("evt_1")], ClaimMode::Enforce).await.unwrap()[0] }
    });
    let claims = futures_util::future::join_all(claims).await;
    assert_eq!(claims.iter().filter(|claim| **claim == Claim::New).count(), 1);
    assert_eq!(claims.iter().filter(|claim| **claim == duplicate(Status::Claimed, false)).count(), 19);
    ground.check_read("SELECT count(*) FROM webhook_payload", "(1)").await;
}

#[tokio::test]
async fn one_delivery_claims_each_of_its_events_once() {
    let mut ground = Ground::new("claim_array").await;
    ground.claim(&event("b")).await;
    let delivery = ["a", "b", "c", "a"].map(event);
    let claims = ground.ledger.claim(&delivery, ClaimMode::Enforce).await.unwrap();
    let known = duplicate(Status::Claimed, false);
    assert_eq!(claims, [Claim::New, known, Claim::New, known]);
    ground.check_read("SELECT event_id FROM webhook_payload ORDER BY 1", "(a) (b) (c)").await;
}

#[tokio::test]
async fn deliveries_of_the_same_events_in_opposite_order_do_not_deadlock() {
    let ground = Ground::new("claim_crossed").await;
    for round in 0..20 {
        let ids: Vec<String> = (0..30).map(|n| format!("{round}-{n}")).collect();
        let forwards: Vec<_> = ids.iter().map(|id| event(id)).collect();
        let backwards: Vec<_> = ids.iter().rev().map(|id| event(id)).collect();
        let (mut one, mut other) = (ground.another(), ground.another());
        let both = tokio::join!(one.claim(&forwards, ClaimMode::Enforce), other.claim(&backwards, ClaimMode::Enforce));
        let new = both.0.unwrap().into_iter().chain(both.1.unwrap()).filter(|claim| *claim == Claim::New).count();
        assert_eq!(new, 30);
    }
}

#[tokio::test]
async fn of_a_header_that_is_there_twice_the_last_value_is_kept() {
    let mut ground = Ground::new("claim_headers").await;
    let headers = [("b", "1"), ("a", "\"é\\"), ("b", "2")];
    let of = |id: &str, headers: &[_]| event_of(id, None, Lifecycle::Updated, headers, b"{}");
    // One is claimed by another statement than several.
    ground.claim(&of("one", &headers)).await;
    ground.ledger.claim(&[of("two", &headers), of("three", &[])], ClaimMode::Enforce).await.unwrap();
    let kept = r#"{"a": "\"é\\", "b": "2"}"#;
    let sql = format!("SELECT event_id, headers = '{kept}' OR headers = '{{}}' FROM webhook_payload ORDER BY 1");
    ground.check_read(&sql, "(one,t) (three,t) (two,t)").await;
}

#[tokio::test]
async fn bodies_that_jsonb_refuses_are_kept_byte_for_byte() {
    let mut ground = Ground::new("claim_bodies").await;
    let deep = "[".repeat(100_000);
    let bodies: [&[u8]; 6] =
        [br#"{"a":"\u0000"}"#, br#"{"a":"\ud800"}"#, br#"{"a":1e400000}"#, deep.as_bytes(), b"\xff\x00not json", b""];
    for (n, body) in bodies.iter().enumerate() {
        assert_eq!(ground.claim(&event_with(&n.to_string(), None, Lifecycle::Updated, body)).await, Claim::New);
    }
    for (n, body) in bodies.iter().enumerate() {
        assert_eq!(ground.lease(&n.to_string()).await.event.unwrap().body, *body);
    }
    ground.check_read("SELECT count(*), count(payload) FROM webhook_payload_json", "(6,0)").await;
    ground.claim(&event_with("good", None, Lifecycle::Updated, br#"{"a":1}"#)).await;
    ground.check_read("SELECT payload ->> 'a' AS a FROM webhook_payload_json WHERE event_id = 'good'", "(1)").await;
}

#[tokio::test]
async fn a_duplicate_is_answered_while_a_worker_holds_the_row() {
    let mut ground = Ground::new("claim_held").await;
    let lease = ground.leased("evt_1").await;
    let mut other = ground.another();
    let work = ground.ledger.begin().await.unwrap();
    work.transaction().batch_execute("SELECT FROM webhook_event FOR UPDATE").await.unwrap();
    // It would never return here if it waited for the lock, which is given up only below.
    let claims = other.claim(&[event("evt_1")], ClaimMode::Enforce).await.unwrap();
    assert_eq!(claims, [duplicate(Status::Processing, false)]);
    work.settle(vec![(lease, hookledger_core::Outcome::Applied)]).await.unwrap();
}

#[tokio::test]
async fn a_duplicate_wakes_a_row_that_waits_too_long_but_not_with_every_copy() {
    let mut ground = Ground::new("claim_wakes").await;
    ground.claim(&event("evt_1")).await;
    ground.run("UPDATE webhook_event SET received_at = now() - interval '31 s'").await;
    assert_eq!(ground.claim(&event("evt_1")).await, duplicate(Status::Claimed, true));
    assert_eq!(ground.claim(&event("evt_1")).await, duplicate(Status::Claimed, false));
}

#[tokio::test]
async fn a_duplicate_of_a_settled_event_is_no_work() {
    let mut ground = Ground::new("claim_settled").await;
    let lease = ground.leased("evt_1").await;
    ground.settle(lease, "SELECT 1").await.unwrap();
    ground.run("UPDATE webhook_event SET received_at = now() - interval '9 days'").await;
    assert_eq!(ground.claim(&event("evt_1")).await, duplicate(Status::Settled, false));
}

#[tokio::test]
async fn a_duplicate_re_arms_a_dead_letter_and_says_so() {
    let mut ground = Ground::new("claim_rearms").await;
    let lease = ground.leased("evt_1").await;
    ground.ledger.fail(lease, hookledger_core::Settlement::DeadLetter, "broken").await.unwrap();
    assert_eq!(ground.claim(&event("evt_1")).await, duplicate(Status::DeadLetter, true));
    ground.check_read("SELECT status, attempts FROM webhook_event", "(claimed,0)").await;
    ground.check_read("SELECT action, event_id FROM webhook_audit", "(rearmed,evt_1)").await;
    assert!(matches!(ground.ledger.lease_first_attempts(&[key("evt_1")]).await.unwrap()[..], [Grant::Leased(_)]));
}

#[tokio::test]
async fn in_observe_mode_a_duplicate_is_counted_and_processed_again() {
    let mut ground = Ground::new("claim_observe").await;
    let lease = ground.leased("evt_1").await;
    ground.settle(lease, "SELECT 1").await.unwrap();
    let claims = ground.ledger.claim(&[event("evt_1")], ClaimMode::Observe).await.unwrap();
    assert_eq!(claims, [duplicate(Status::Settled, true)]);
    ground.check_read("SELECT status, would_skip FROM webhook_event", "(claimed,1)").await;
    let lease = ground.lease("evt_1").await;
    ground.settle(lease, "SELECT 1").await.unwrap();
    assert_eq!(ground.claim(&event("evt_1")).await, duplicate(Status::Settled, false));
}

#[tokio::test]
async fn in_observe_mode_an_id_that_is_twice_in_one_delivery_is_no_duplicate_of_itself() {
    let mut ground = Ground::new("claim_observe_twice").await;
    let claims = ground.ledger.claim(&["b", "a", "b"].map(event), ClaimMode::Observe).await.unwrap();
    assert_eq!(claims, [Claim::New, Claim::New, duplicate(Status::Claimed, false)]);
    ground.check_read("SELECT event_id, would_skip FROM webhook_event ORDER BY 1", "(a,0) (b,0)").await;
}

#[tokio::test]
async fn a_plan_that_was_made_when_the_ledger_was_small_does_not_read_all_of_it_later() {
    let mut ground = Ground::new("claim_plans").await;
    ground.claim(&event("evt_1")).await;
    ground.run("ANALYZE webhook_event").await;
    // Often enough for the connection to keep a plan.
    for _ in 0..10 {
        ground.claim(&event("evt_1")).await;
    }
    let many = "INSERT INTO webhook_event (source, event_id, event_type, lifecycle, via)
                SELECT 'stripe', n, 't', 'updated', 'webhook' FROM generate_series(1, 5000) AS n";
    ground.run(many).await;
    for _ in 0..10 {
        ground.claim(&event("evt_1")).await;
    }
    ground.alone().await;
    ground.check_read("SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'webhook_event'", "(0)").await;
}

#[tokio::test]
async fn two_sources_may_use_one_id() {
    let mut ground = Ground::new("claim_sources").await;
    ground.claim(&event("1")).await;
    ground.run("UPDATE webhook_event SET source = 'github'").await;
    assert_eq!(ground.claim(&event("1")).await, Claim::New);
}
