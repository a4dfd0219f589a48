//! Every test vector under `vectors/`, through the whole of `verify`. Where a vector is from stands in it: constants are the
//! provider's own (`official`), or computed beside a provider's constants by a program that shares nothing with this one.

use std::collections::HashMap;
use std::path::Path;

use bytes::Bytes;
use hookledger_core::{Secret, Via};
use hookledger_providers::{Rejection, SignedRequest, Source, Sources, Verified, about, key_fetch, verify};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde::Deserialize;

use crate::delivery::REPLAY_TOKEN;
use crate::told::told;

#[derive(Deserialize)]
struct File {
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    name: String,
    secrets: Vec<String>,
    method: Option<String>,
    query: Option<String>,
    #[serde(default)]
    settings: Vec<String>,
    headers: serde_json::Map<String, serde_json::Value>,
    body: Option<String>,
    /// What stands under the URL of the key, where there is one.
    fetched: Option<String>,
    body_repeat: Option<(String, usize)>,
    now_s: Option<i64>,
    valid: bool,
    outcome: String,
}

#[test]
fn every_vector_ends_as_it_says() {
    let mut failures = Vec::new();
    let mut count = 0;
    for (provider, vector) in vectors() {
        count += 1;
        let (outcome, genuine) = match Prepared::of(&provider, &vector) {
            Ok(prepared) => {
                let verified = prepared.verify(&prepared.request);
                (told(&verified), verified.map_or_else(|rejection| rejection.status() == 400, |_| true))
            }
            Err(told) => (told, false),
        };
        if outcome != vector.outcome || genuine != vector.valid {
            failures
                .push(format!("{provider}\t{}\t{outcome}\twanted {}, valid {}", vector.name, vector.outcome, vector.valid));
        }
    }
    assert!(failures.is_empty(), "of {count} vectors failed:\n{}", failures.join("\n"));
    assert!(count > 250, "only {count} vectors were found");
}

/// Where not all of a body is signed: tokens, those that say so, and Braintree, whose body holds signatures for other keys too.
const BODY_NOT_COVERED: [&str; 3] = ["body_not_covered = true", "algorithm = \"token\"", "payload = \"xml-base64\""];

#[test]
fn a_body_that_was_changed_in_any_place_is_never_taken() {
    let definitions: HashMap<&str, &str> = about().map(|about| (about.name, about.definition)).collect();
    let mut changes = 0;
    for (provider, vector) in vectors().into_iter().filter(|(_, vector)| vector.valid && vector.body.is_some()) {
        if BODY_NOT_COVERED.iter().any(|word| definitions[provider.as_str()].contains(word)) {
            continue;
        }
        let prepared = Prepared::of(&provider, &vector).unwrap();
        let body = &prepared.request.body;
        // An unsigned ping or challenge is taken whatever it says.
        if prepared.unsigned().is_ok() {
            continue;
        }
        for at in (0..body.len()).step_by(1 + body.len() / 200) {
            let mut changed = body.to_vec();
            changed[at] ^= 1;
            let changed = SignedRequest { body: changed.into(), ..prepared.request.clone() };
            let verified = prepared.verify(&changed);
            let taken = verified.as_ref().map_or_else(|rejection| rejection.status() != 401, |_| true);
            assert!(!taken, "{provider} {} with byte {at} changed: {}", vector.name, told(&verified));
            changes += 1;
        }
    }
    assert!(changes > 10_000, "only {changes} changes were tried");
}

#[test]
fn what_is_stored_of_an_event_is_enough_to_replay_it() {
    let token = Secret::new(REPLAY_TOKEN).unwrap();
    let mut events_replayed = 0;
    for (provider, vector) in vectors().into_iter().filter(|(_, vector)| vector.valid) {
        let prepared = Prepared::of(&provider, &vector).unwrap();
        let Ok(Verified::Events(events)) = prepared.verify(&prepared.request) else { continue };
        for event in events {
            let headers = event.headers().iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            let mut headers: HeaderMap = headers.collect();
            headers.insert("x-replay-token", HeaderValue::from_static(REPLAY_TOKEN));
            let request = SignedRequest { headers, body: event.body().clone(), query: None, ..prepared.request.clone() };
            let replayed = verify(&prepared.source, &request, &[], Some(&token), prepared.now_s);
            let Ok(Verified::Events(replayed)) = replayed else { panic!("{provider} {}: {replayed:?}", vector.name) };
            assert_eq!(replayed.len(), 1, "{provider} {}", vector.name);
            let (first, mut again) = (event.identity().clone(), replayed[0].identity().clone());
            if provider == "plaid" {
                // Its id is of a token that is not kept, and it is a signal: a replay is another.
                again.event_id = first.event_id.clone();
            }
            assert_eq!(first, again, "{provider} {}", vector.name);
            assert_eq!(replayed[0].body(), event.body(), "{provider} {}", vector.name);
            assert_eq!(replayed[0].via(), Via::Replay);
            events_replayed += 1;
        }
    }
    assert!(events_replayed > 100, "only {events_replayed} events were replayed");
}

fn vectors() -> Vec<(String, Vector)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let vectors = files.flat_map(|path| {
        let file: File = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let provider = path.file_stem().unwrap().to_str().unwrap().to_owned();
        file.vectors.into_iter().map(move |vector| (provider.clone(), vector))
    });
    vectors.collect()
}

/// A vector as `verify` takes it.
struct Prepared {
    source: Source,
    secrets: Vec<Secret>,
    request: SignedRequest,
    now_s: i64,
}

impl Prepared {
    /// `Err` tells why it does not come to `verify`.
    fn of(provider: &str, vector: &Vector) -> Result<Self, String> {
        let secrets = if vector.secrets.is_empty() { "" } else { "secrets = [\"env:S\"]" };
        let toml = format!("[s]\nprovider = {provider:?}\n{secrets}\n{}\n", vector.settings.join("\n"));
        let sources = Sources::parse(&toml).unwrap_or_else(|e| panic!("{provider} {}: {e}", vector.name));
        let source = sources.get("s").unwrap().clone();
        let secrets = vector.secrets.iter().map(|text| source.secret(text)).collect::<Result<Vec<_>, _>>();
        let secrets = secrets.map_err(|error| format!("unusable: {error}"))?;
        let request = vector.request();
        let secrets = match (&vector.fetched, key_fetch(&source, &request)) {
            (None, fetch) => {
                assert_eq!(fetch, Ok(None), "{provider} {}", vector.name);
                secrets
            }
            (Some(_), Err(rejection)) => return Err(format!("nothing to fetch: {}", rejection.reason())),
            (Some(fetched), Ok(fetch)) => {
                vec![fetch.unwrap().key(fetched.as_bytes()).map_err(|error| format!("unusable: {error}"))?]
            }
        };
        Ok(Self { source, secrets, request, now_s: vector.now_s.unwrap_or(1_700_000_000) })
    }

    fn verify(&self, request: &SignedRequest) -> Result<Verified, Rejection> {
        verify(&self.source, request, &self.secrets, None, self.now_s)
    }

    fn unsigned(&self) -> Result<Verified, Rejection> {
        verify(&self.source, &self.request, &[], None, self.now_s)
    }
}

impl Vector {
    fn request(&self) -> SignedRequest {
        let headers = self.headers.iter().flat_map(|(name, value)| {
            let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            values.into_iter().map(move |value| {
                (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value.as_str().unwrap()).unwrap())
            })
        });
        let body = match (&self.body, &self.body_repeat) {
            (Some(body), _) => body.clone(),
            (None, Some((part, times))) => part.repeat(*times),
            (None, None) => String::new(),
        };
        SignedRequest {
            method: self.method.as_deref().unwrap_or("POST").parse::<Method>().unwrap(),
            path: "/webhooks/s".into(),
            query: self.query.clone(),
            headers: headers.collect(),
            body: Bytes::from(body),
        }
    }
}
