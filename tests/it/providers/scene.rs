//! A receiver with sources of the test's own, and deliveries to it.

use std::ffi::OsString;
use std::rc::Rc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use bytes::Bytes;
use hookledger_core::ClaimMode;
use hookledger_harness::Emulator;
use hookledger_providers::{SignedRequest, Sources, sign};
use hookledger_queue::{Queue, SpillQueue};
use hookledger_runtime::{Env, FetchedKeys, Hint, Https, SecretStore, Vault, now, replay_token};
use lambda_http::http::{HeaderMap, HeaderName, Method};
use receiver::{GatewayEvent, Receiver};
use serde_json::{Value, json};

use crate::ground::Ground;

/// The text of every source's secret `env:S`, where the provider takes any text.
pub(super) const SECRET: &str = "secret";
pub(super) const REPLAY_TOKEN: &str = "replay-token-of-at-least-thirty-two-bytes";

pub(super) struct Scene {
    pub(super) ground: Ground,
    pub(super) receiver: Receiver,
    secret: String,
    _emulator: Emulator,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Answer {
    /// A status and a body, byte for byte.
    #[track_caller]
    pub(super) fn check(&self, status: u16, body: &str) {
        assert_eq!((self.status, self.body.as_str()), (status, body));
    }

    #[track_caller]
    pub(super) fn check_outcome(&self, outcome: &str, events: u64) {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"));
        let found = (self.status, body["outcome"].as_str(), body["events"].as_u64().unwrap_or(1));
        assert_eq!(found, (200, Some(outcome), events));
    }
}

impl Scene {
    pub(super) async fn new(name: &str, sources: &str) -> Self {
        Self::with(name, sources, SECRET, Https::new()).await
    }

    pub(super) async fn with(name: &str, sources: &str, secret: &str, https: Https) -> Self {
        let (ground, emulator) = (Ground::new(name).await, Emulator::start().unwrap());
        let text = OsString::from(secret);
        let env = Env::new(move |name| match name {
            "S" => Some(text.clone()),
            "REPLAY_TOKEN" => Some(REPLAY_TOKEN.into()),
            _ => None,
        });
        let sources = Sources::parse(sources).unwrap();
        let client = crate::queue::client(&emulator.endpoint());
        let receiver = Receiver {
            ledger: ground.another(),
            queue: Rc::new(Queue::new(client.clone(), emulator.create_queue("events", &[]).await.unwrap())),
            spill: Some(SpillQueue::new(client, emulator.create_queue("spill", &[]).await.unwrap())),
            secrets: SecretStore::load(&sources, &env, Vault::new(), 300, now()).await.unwrap(),
            fetched_keys: FetchedKeys::new(https),
            sources,
            replay_token: replay_token(&env, &Vault::new()).await.unwrap(),
            claim_mode: ClaimMode::Enforce,
            hint: Hint::read(&env).unwrap(),
        };
        Self { ground, receiver, secret: secret.to_owned(), _emulator: emulator }
    }

    /// A POST that the provider signed now, with these headers beside the signature's.
    pub(super) async fn deliver(&mut self, source: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request = request(source, headers, body);
        let of = self.receiver.sources.get(source).unwrap();
        sign(of, &mut request, &of.secret(&self.secret).unwrap(), now() / 1_000_000).unwrap();
        self.send("POST", source, "", &request.headers, body).await
    }

    /// A POST with no headers but these.
    pub(super) async fn post(&mut self, source: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let headers = request(source, headers, body).headers;
        self.send("POST", source, "", &headers, body).await
    }

    pub(super) async fn get(&mut self, source: &str, query: &str) -> Answer {
        self.send("GET", source, query, &HeaderMap::new(), "").await
    }

    /// As HTTP API hands it over, which gives some bodies as base64 and others as text; any may come either way.
    pub(super) async fn send(&mut self, method: &str, source: &str, query: &str, headers: &HeaderMap, body: &str) -> Answer {
        let path = format!("/webhooks/{source}");
        let headers: serde_json::Map<String, Value> =
            headers.iter().map(|(name, value)| (name.to_string(), json!(value.to_str().unwrap()))).collect();
        let event = json!({
            "version": "2.0", "routeKey": "ANY /webhooks/{source}", "rawPath": path, "rawQueryString": query,
            "headers": headers, "isBase64Encoded": true, "body": BASE64.encode(body),
            "requestContext": {
                "accountId": "123456789012", "apiId": "api", "stage": "$default", "requestId": "r", "routeKey": "ANY /webhooks/{source}",
                "time": "12/Mar/2026:19:03:58 +0000", "timeEpoch": 1_773_342_238_000_i64,
                "http": { "method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1", "userAgent": "t" },
            },
        });
        let (response, unfinished) =
            self.receiver.receive(GatewayEvent::read(event.to_string().as_bytes()).unwrap().request).await;
        if let Some(unfinished) = unfinished {
            unfinished.finish().await;
        }
        let (parts, body) = response.into_parts();
        Answer { status: parts.status.as_u16(), headers: parts.headers, body: String::from_utf8(body.to_vec()).unwrap() }
    }

    #[track_caller]
    pub(super) fn check_rows<'a>(&'a self, expected: &'a str) -> impl Future<Output = ()> + 'a {
        self.ground.check_read(
            "SELECT source, event_type, count(*) AS n FROM webhook_event GROUP BY 1, 2 ORDER BY source COLLATE \"C\", event_type COLLATE \"C\"",
            expected,
        )
    }
}

fn request(source: &str, headers: &[(&str, &str)], body: &str) -> SignedRequest {
    let headers = headers.iter().map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()));
    SignedRequest {
        method: Method::POST,
        path: format!("/webhooks/{source}"),
        query: None,
        headers: headers.collect(),
        body: Bytes::copy_from_slice(body.as_bytes()),
    }
}
