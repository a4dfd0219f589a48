//! Input that no provider sends. Everything is a rejection or an answer; nothing is a panic.

use hookledger_core::Secret;
use hookledger_providers::{SignedRequest, Sources, Verified, about, verify};
use http::{HeaderMap, HeaderValue, Method};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::delivery::{Delivery, REPLAY_TOKEN};
use crate::told::told;

#[track_caller]
fn stripe(body: impl Into<bytes::Bytes>, expected: &str) {
    assert_eq!(told(&Delivery::new("stripe", body).verify()), expected);
}

#[test]
fn a_body_that_is_not_the_documented_one_is_refused() {
    for body in ["", "x", "[]x", "\u{feff}{}", r#"{"id":"a","id":"b","type":"t"}"#, "{\"id\":\"\\ud800\",\"type\":\"t\"}"] {
        let expected = if body.contains("ud800") { "rejected bad_event_id" } else { "rejected malformed_body" };
        stripe(body, expected);
    }
    stripe(&b"\xff\xfe"[..], "rejected malformed_body");
    stripe("null", "rejected no_event_id");
    stripe("[]", "rejected no_event_id");
}

#[test]
fn an_id_that_cannot_be_a_key_is_refused() {
    let body = |id: &str| format!(r#"{{"id":{id},"type":"t"}}"#);
    for (id, expected) in [
        ("null", "rejected no_event_id"),
        ("\"\"", "rejected no_event_id"),
        ("\"  \"", "rejected no_event_id"),
        ("7", "rejected bad_event_id"),
        ("true", "rejected bad_event_id"),
        ("[\"a\"]", "rejected bad_event_id"),
        ("\"a\\u0000\"", "rejected bad_event_id"),
        ("\"a\\nb\"", "rejected bad_event_id"),
    ] {
        stripe(body(id), expected);
    }
    stripe(body(&format!("{:?}", "x".repeat(5000))), "rejected bad_event_id");
    stripe(body(&format!("{:?}", "x".repeat(255))), &format!("{} t updated", "x".repeat(255)));
}

#[test]
fn what_jsonb_refuses_is_received_all_the_same() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for odd in [r#""\u0000""#, r#""\ud800""#, "1e400000", &deep] {
        stripe(format!(r#"{{"id":"e","type":"t","x":{odd}}}"#), "e t updated");
    }
}

#[test]
fn deep_nesting_is_harmless_wherever_it_stands() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let objects = format!("{}1{}", r#"{"a":"#.repeat(100_000), "}".repeat(100_000));
    for nested in [&deep, &objects] {
        stripe(format!(r#"{{"id":{nested},"type":"t"}}"#), "rejected bad_event_id");
        stripe(format!(r#"{{"id":"e","type":{nested}}}"#), "rejected no_event_type");
        stripe(format!(r#"{{"id":"e","type":"t","data":{nested}}}"#), "e t updated");
        stripe(format!(r#"{{"id":"e","type":"t","data":{{"object":{nested}}}}}"#), "e t updated");
        let slack = Delivery::new("slack", format!(r#"{{"event_id":"e","event":{nested},"type":"t"}}"#));
        assert_eq!(told(&slack.verify()), "e t updated");
    }
    stripe("[".repeat(100_000), "rejected malformed_body");
}

#[test]
fn a_signature_that_is_none_is_a_rejection_at_every_provider() {
    let (long, lists) = ("x".repeat(100_000), "v1=,".repeat(25_000));
    // 33 bytes that are longer than any SHA-256, and what looks like the beginnings of signatures.
    let junk = "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh";
    let values =
        [long.as_str(), &lists, "t=,v1", "t=,v1=", "v1,", "sha256=", "=", ",", " ", "", junk, "v1,not-valid-$$$", "Basic"];
    for about in about() {
        let sources = source_of(about.name);
        for value in values {
            for body in [&b"{}"[..], b"", b"\xff\xfe", b"[]", b"\xef\xbb\xbf{}"] {
                let headers = header_names(about.definition).into_iter().filter(|name| name != "content-type");
                let headers: HeaderMap = headers
                    .map(|name| (name.parse::<http::HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap()))
                    .collect();
                let request =
                    SignedRequest { method: Method::POST, path: String::new(), query: None, headers, body: body.into() };
                let verified =
                    verify(sources.get("s").unwrap(), &request, &[Secret::new("k").unwrap()], None, 1_700_000_000);
                let status = verified.as_ref().map_or_else(|rejection| rejection.status(), |_| 200);
                assert_eq!(status, 401, "{} with {:.20}: {}", about.name, value, told(&verified));
            }
        }
    }
}

#[test]
fn a_header_that_is_no_text_or_comes_twice_is_a_rejection() {
    let sources = source_of("stripe");
    let good = "t=1700000000,v1=00";
    for values in [vec![&b"t=1,v1=\xff"[..]], vec![good.as_bytes(), good.as_bytes()]] {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("stripe-signature", HeaderValue::from_bytes(value).unwrap());
        }
        let request = SignedRequest { method: Method::POST, path: String::new(), query: None, headers, body: "{}".into() };
        let verified = verify(sources.get("s").unwrap(), &request, &[Secret::new("k").unwrap()], None, 1_700_000_000);
        assert_eq!(told(&verified), "rejected no_signature");
    }
}

#[test]
fn size_and_method_are_looked_at_first() {
    let sources = Sources::parse("[s]\nprovider = \"stripe\"\nsecrets = [\"env:S\"]\nbody_bytes_max = 10").unwrap();
    let told = |method: Method, body: &'static str| {
        let request =
            SignedRequest { method, path: String::new(), query: None, headers: HeaderMap::new(), body: body.into() };
        told(&verify(sources.get("s").unwrap(), &request, &[], None, 0))
    };
    assert_eq!(told(Method::GET, "12345678901"), "rejected method");
    assert_eq!(told(Method::POST, "12345678901"), "rejected too_large");
    assert_eq!(told(Method::POST, "1234567890"), "rejected no_signature");
}

#[test]
fn a_wrong_replay_token_is_not_made_good_by_anything() {
    let sources = Sources::parse("[s]\nprovider = \"stripe\"\nsecrets = [\"env:S\"]").unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("x-replay-token", HeaderValue::from_static("wrong"));
    let request = SignedRequest { method: Method::POST, path: String::new(), query: None, headers, body: "{}".into() };
    let told = |token: Option<&Secret>| told(&verify(sources.get("s").unwrap(), &request, &[], token, 0));
    assert_eq!(told(Some(&Secret::new(REPLAY_TOKEN).unwrap())), "rejected bad_signature");
    assert_eq!(told(None), "rejected no_signature");
}

/// The headers that a definition reads.
fn header_names(definition: &str) -> Vec<String> {
    let places = definition.split("header:").skip(1);
    let names = places.map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap().to_owned());
    names.chain(["content-type".to_owned()]).collect()
}

/// What the providers that need them are given.
const NEEDED: [(&str, &str); 6] = [
    ("public_url", "https://a.io/hooks"),
    ("webhook_id", "W1"),
    ("public_key", "pk"),
    ("topic_arn", "arn:aws:sns:eu-west-1:1:t"),
    ("client_id", "c"),
    ("verify_token_sha256", "0000000000000000000000000000000000000000000000000000000000000000"),
];

/// A source of any built-in provider: what it says is missing is given to it.
pub(crate) fn source_of(provider: &str) -> Sources {
    let mut toml = format!("[s]\nprovider = {provider:?}\n");
    loop {
        let told = match Sources::parse(&toml) {
            Ok(sources) => return sources,
            Err(error) => error.to_string(),
        };
        if told.contains("key secrets: it is missing") {
            toml.push_str("secrets = [\"env:S\"]\n");
            continue;
        }
        let missing = NEEDED.iter().find(|(key, _)| told.contains(&format!("key {key}: it is missing")));
        let (key, value) = missing.unwrap_or_else(|| panic!("{told}"));
        toml.push_str(&format!("{key} = {value:?}\n"));
    }
}

fn junk() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,200}",
        "(t=|v1=|v0=|ts=|h1=|sha256=|,|;| |=|[0-9a-f]{0,64}|[0-9]{1,30}){0,40}",
        Just("x".repeat(100_000)),
        Just(",".repeat(10_000)),
        "[A-Za-z0-9+/]{44}",
    ]
}

proptest! {
    #[test]
    fn arbitrary_headers_and_bodies_never_panic(
        provider in prop::sample::select(about().collect::<Vec<_>>()),
        values in prop::collection::vec(junk(), 12),
        body in prop_oneof![prop::collection::vec(any::<u8>(), 0..300), "[\\[\\]{}\":,a-z0-9 \\\\]{0,200}".prop_map(String::into_bytes)],
        replayed in any::<bool>(),
        now_s in any::<i64>(),
    ) {
        let sources = source_of(provider.name);
        let mut headers = HeaderMap::new();
        for (name, value) in header_names(provider.definition).into_iter().zip(values) {
            headers.insert(name.parse::<http::HeaderName>().unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        if replayed {
            headers.insert("x-replay-token", HeaderValue::from_static(REPLAY_TOKEN));
        }
        let request = SignedRequest { method: Method::POST, path: String::new(), query: None, headers, body: body.into() };
        let token = Secret::new(REPLAY_TOKEN).unwrap();
        let verified = verify(sources.get("s").unwrap(), &request, &[Secret::new("k").unwrap()], Some(&token), now_s);
        // An unsigned ping or challenge is no event.
        prop_assert!(replayed || !matches!(verified, Ok(Verified::Events(_))));
    }

    #[test]
    fn arbitrary_values_in_the_right_places_never_panic(
        provider in prop::sample::select(about().collect::<Vec<_>>()),
        values in prop::collection::vec(value(), 40),
        headers in prop::collection::vec(prop_oneof!["[ -~]{0,60}", Just("x".repeat(300))], 12),
        in_array in any::<bool>(),
    ) {
        let sources = source_of(provider.name);
        let mut body = json!({});
        for (pointer, value) in pointers(provider.definition).into_iter().zip(values) {
            put(&mut body, &pointer, value);
        }
        let body = if in_array { json!([body, body]) } else { body };
        let mut map = HeaderMap::new();
        for (name, value) in header_names(provider.definition).into_iter().zip(headers) {
            map.insert(name.parse::<http::HeaderName>().unwrap(), HeaderValue::from_str(&value).unwrap());
        }
        map.insert("content-type", HeaderValue::from_static("application/json"));
        map.insert("x-replay-token", HeaderValue::from_static(REPLAY_TOKEN));
        let body = body.to_string();
        let request = SignedRequest { method: Method::POST, path: String::new(), query: None, headers: map, body: body.into() };
        let token = Secret::new(REPLAY_TOKEN).unwrap();
        let verify = || verify(sources.get("s").unwrap(), &request, &[], Some(&token), 1_700_000_000);
        prop_assert_eq!(told(&verify()), told(&verify()));
        if let Ok(Verified::Events(events)) = verify() {
            let ids: std::collections::HashSet<_> = events.iter().map(|event| &event.identity().event_id).collect();
            prop_assert_eq!(ids.len(), events.len(), "one delivery says one event twice");
        }
    }
}

/// Where a definition looks in JSON.
fn pointers(definition: &str) -> Vec<String> {
    let places = definition.split("body:/").skip(1).chain(definition.split("root:/").skip(1));
    places.map(|rest| format!("/{}", rest.split(['"', ' ', '}', '?']).next().unwrap())).collect()
}

/// Makes what is missing on the way.
fn put(body: &mut Value, pointer: &str, value: Value) {
    let mut at = body;
    for segment in pointer.split('/').skip(1) {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[segment];
    }
    *at = value;
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,20}".prop_map(Value::from),
        "[0-9.:TZ+-]{0,30}".prop_map(Value::from),
        Just(Value::from("x".repeat(5000))),
        Just(json!([])),
        Just(json!([{"id": "a"}, {"id": "a"}, null, 7])),
        Just(json!({"id": {"id": "a"}})),
    ]
}
