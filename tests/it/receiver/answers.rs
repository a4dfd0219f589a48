use hookledger_harness::{Emulator, sign};
use serde_json::{Value, json};

use super::delivery::{REPLAY_TOKEN, deliver, post, receiver, request, stripe_event, stripe_signature};
use crate::ground::Ground;

#[tokio::test]
async fn a_duplicate_is_told_so_and_sent_to_the_queue_once() {
    let emulator = Emulator::start().unwrap();
    let ground = Ground::new("receiver_duplicate").await;
    let mut receiver = receiver(&ground, &emulator).await;
    deliver(&mut receiver, "evt_1").await.check(200, &json!({ "outcome": "accepted", "event_id": "evt_1" }));
    deliver(&mut receiver, "evt_1").await.check(200, &json!({ "outcome": "duplicate", "event_id": "evt_1" }));
    let queue = emulator.create_queue("events", &[]).await.unwrap();
    let messages = emulator.receive(&queue, 1).await.unwrap();
    let bodies: Vec<&str> = messages.iter().map(|message| message.body.as_str()).collect();
    assert_eq!(bodies, [r#"{"source":"stripe","event_id":"evt_1"}"#]);
}

#[tokio::test]
async fn github_events_are_taken_and_a_ping_is_answered_without_a_row() {
    let emulator = Emulator::start().unwrap();
    let ground = Ground::new("receiver_github").await;
    let mut receiver = receiver(&ground, &emulator).await;
    let body = r#"{"ref":"refs/heads/main","before":"1","after":"2","repository":{"id":7}}"#;
    let signature = sign::github("github-secret", body.as_bytes());
    let guid = "72d3162e-cc78-11e3-81ab-4c9367dc0958";
    for (kind, expected) in [("push", "accepted"), ("ping", "ignored")] {
        let headers = [("x-github-event", kind), ("x-github-delivery", guid), ("x-hub-signature-256", &signature)];
        let answer = post(&mut receiver, "/webhooks/github", &headers, body).await;
        let outcome: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!((answer.status, &outcome["outcome"]), (200, &json!(expected)));
    }
    ground.check_read("SELECT source, event_type FROM webhook_event", "(github,push)").await;
}

#[tokio::test]
async fn every_failed_verification_looks_the_same_and_leaves_no_row() {
    let emulator = Emulator::start().unwrap();
    let ground = Ground::new("receiver_unverified").await;
    let mut receiver = receiver(&ground, &emulator).await;
    let body = stripe_event("evt_1");
    let old = sign::stripe("whsec_test", 1_500_000_000, body.as_bytes());
    let other_body = stripe_signature("{}");
    let other_secret = sign::stripe("whsec_other", hookledger_runtime::now() / 1_000_000, body.as_bytes());
    let mut answers = Vec::new();
    for headers in [
        &[][..],
        &[("stripe-signature", "t=x,v1=00")],
        &[("stripe-signature", old.as_str())],
        &[("stripe-signature", other_body.as_str())],
        &[("stripe-signature", other_secret.as_str())],
        &[("x-replay-token", "a-wrong-replay-token-of-more-than-thirty-two-bytes")],
    ] {
        let answer = post(&mut receiver, "/webhooks/stripe", headers, &body).await;
        assert_eq!(answer.status, 401);
        answers.push(answer.body);
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    ground.check_read("SELECT count(*) FROM webhook_event", "(0)").await;
}

#[tokio::test]
async fn what_cannot_be_used_gets_one_clear_error() {
    let emulator = Emulator::start().unwrap();
    let ground = Ground::new("receiver_errors").await;
    let mut receiver = receiver(&ground, &emulator).await;
    let signed = |body: &str| stripe_signature(body);
    let broken = "{not json";
    let no_id = r#"{"object":"event","type":"a","created":1,"data":{"object":{}}}"#;
    let large = "x".repeat(2 << 20);
    for (method, path, body, status) in [
        ("POST", "/webhooks/stripe", broken, 400),
        ("POST", "/webhooks/stripe", no_id, 400),
        ("POST", "/webhooks/stripe", large.as_str(), 413),
        ("GET", "/webhooks/stripe", "", 405),
        ("PUT", "/webhooks/stripe", no_id, 405),
        ("POST", "/webhooks/unknown", no_id, 404),
        ("POST", "/webhooks/", no_id, 404),
        ("POST", "/", no_id, 404),
        ("POST", "/health", no_id, 405),
    ] {
        let answer = request(&mut receiver, method, path, &[("stripe-signature", &signed(body))], body).await;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
        let error: Value = serde_json::from_str(&answer.body).unwrap();
        assert!(error["error"].as_str().is_some_and(|text| text.len() > 10), "{error}");
        assert_eq!(status == 405, answer.headers.contains_key("allow"), "{path}");
    }
    let answer = request(&mut receiver, "GET", "/health", &[], "").await;
    answer.check(200, &json!({ "status": "ok" }));
    ground.check_read("SELECT count(*) FROM webhook_event", "(0)").await;
}

#[tokio::test]
async fn the_replay_token_stands_in_for_the_signature_and_the_row_says_so() {
    let emulator = Emulator::start().unwrap();
    let ground = Ground::new("receiver_replay").await;
    let mut receiver = receiver(&ground, &emulator).await;
    let headers = [("x-replay-token", REPLAY_TOKEN)];
    let answer = post(&mut receiver, "/webhooks/stripe", &headers, &stripe_event("evt_1")).await;
    answer.check(200, &json!({ "outcome": "accepted", "event_id": "evt_1" }));
    // It bypasses nothing else.
    assert_eq!(post(&mut receiver, "/webhooks/stripe", &headers, "{not json").await.status, 400);
    ground.check_read("SELECT via FROM webhook_event", "(replay)").await;
    ground.check_read("SELECT headers FROM webhook_payload WHERE headers::text LIKE '%replay%'", "").await;
}
