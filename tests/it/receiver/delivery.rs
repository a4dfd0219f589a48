//! A receiver, and deliveries as AWS hands them over.

use std::rc::Rc;

use hookledger_core::ClaimMode;
use hookledger_harness::{Emulator, sign};
use hookledger_ledger::Ledger;
use hookledger_providers::Sources;
use hookledger_queue::{Queue, SpillQueue};
use hookledger_runtime::{Env, FetchedKeys, Hint, Https, SecretStore, Vault, now, replay_token};
use receiver::{GatewayEvent, Receiver};
use serde_json::{Value, json};

use crate::ground::Ground;

pub(super) const SECRET: &str = "whsec_test";
pub(super) const REPLAY_TOKEN: &str = "replay-token-of-at-least-thirty-two-bytes";

const SOURCES: &str = r#"
[stripe]
provider = "stripe"
secrets = ["env:STRIPE_WEBHOOK_SECRET"]

[github]
provider = "github"
secrets = ["env:GITHUB_WEBHOOK_SECRET"]
"#;

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: lambda_http::http::HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(super) fn check(&self, status: u16, body: &Value) {
        let found: Value = serde_json::from_str(&self.body).unwrap_or_else(|_| json!(self.body));
        assert_eq!((self.status, &found), (status, body));
        assert_eq!(self.headers["content-type"], "application/json");
        assert_eq!(self.headers["x-content-type-options"], "nosniff");
    }
}

/// Everything real: the database of `ground`, and SQS's protocol.
pub(crate) async fn receiver(ground: &Ground, emulator: &Emulator) -> Receiver {
    let queue = emulator.create_queue("events", &[]).await.unwrap();
    let spill = emulator.create_queue("spill", &[]).await.unwrap();
    receiver_with(ground.another(), &emulator.endpoint(), &queue, &spill).await
}

pub(crate) async fn receiver_with(ledger: Ledger, endpoint: &str, queue: &str, spill: &str) -> Receiver {
    let env = Env::new(|name| match name {
        "STRIPE_WEBHOOK_SECRET" => Some(SECRET.into()),
        "GITHUB_WEBHOOK_SECRET" => Some("github-secret".into()),
        "REPLAY_TOKEN" => Some(REPLAY_TOKEN.into()),
        _ => None,
    });
    let sources = Sources::parse(SOURCES).unwrap();
    let client = crate::queue::client(endpoint);
    Receiver {
        ledger,
        queue: Rc::new(Queue::new(client.clone(), queue.to_owned())),
        spill: Some(SpillQueue::new(client, spill.to_owned())),
        secrets: SecretStore::load(&sources, &env, Vault::new(), 300, now()).await.unwrap(),
        fetched_keys: FetchedKeys::new(Https::new()),
        sources,
        replay_token: replay_token(&env, &Vault::new()).await.unwrap(),
        claim_mode: ClaimMode::Enforce,
        hint: Hint::read(&env).unwrap(),
    }
}

/// A Stripe event as JSON text.
pub(super) fn stripe_event(id: &str) -> String {
    subscription_event(id, "sub_1", 1_773_342_000)
}

/// An update of a subscription at a Unix time in seconds.
pub(crate) fn subscription_event(id: &str, subscription_id: &str, created_s: i64) -> String {
    json!({
        "id": id, "object": "event", "type": "customer.subscription.updated", "created": created_s, "livemode": false,
        "data": { "object": { "id": subscription_id, "object": "subscription", "status": "active",
                              "items": { "data": [{ "price": { "id": "team" } }] } } }
    })
    .to_string()
}

pub(crate) fn stripe_signature(body: &str) -> String {
    sign::stripe(SECRET, now() / 1_000_000, body.as_bytes())
}

/// An event of `shape` with these headers and this body, which AWS may encode.
pub(super) fn shaped(shape: &str, headers: &[(&str, &str)], body: &str, base64: Option<String>) -> Value {
    let mut event: Value = serde_json::from_str(shape).unwrap();
    for (name, value) in headers {
        // A way has the one, the other or both.
        for (field, value) in [("headers", json!(value)), ("multiValueHeaders", json!([value]))] {
            if let Some(headers) = event.get_mut(field) {
                headers[*name] = value;
            }
        }
    }
    event["isBase64Encoded"] = json!(base64.is_some());
    event["body"] = json!(base64.unwrap_or_else(|| body.to_owned()));
    event
}

pub(super) async fn hand_over(receiver: &mut Receiver, event: &Value) -> Answer {
    let (response, unfinished) = receiver.receive(GatewayEvent::read(event.to_string().as_bytes()).unwrap().request).await;
    if let Some(unfinished) = unfinished {
        unfinished.finish().await;
    }
    let (parts, body) = response.into_parts();
    Answer { status: parts.status.as_u16(), headers: parts.headers, body: String::from_utf8(body.to_vec()).unwrap() }
}

pub(super) const HTTP_API: &str = include_str!("events/http_api_v2.json");

/// A POST by HTTP API to `path`.
pub(crate) async fn post(receiver: &mut Receiver, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    request(receiver, "POST", path, headers, body).await
}

pub(super) async fn request(
    receiver: &mut Receiver,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let mut event = shaped(HTTP_API, headers, body, None);
    event["rawPath"] = json!(path);
    event["requestContext"]["http"]["path"] = json!(path);
    event["requestContext"]["http"]["method"] = json!(method);
    hand_over(receiver, &event).await
}

pub(super) async fn deliver(receiver: &mut Receiver, id: &str) -> Answer {
    let body = stripe_event(id);
    post(receiver, "/webhooks/stripe", &[("stripe-signature", &stripe_signature(&body))], &body).await
}
