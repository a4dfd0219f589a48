//! Why a delivery does not verify, told to somebody who has the secret.

use bytes::Bytes;
use hookledger_core::Secret;
use hookledger_providers::{SignedRequest, Source, Sources, explain, sign};
use http::{HeaderMap, HeaderValue, Method};

const NOW_S: i64 = 1_700_000_000;

fn source(toml: &str) -> Source {
    Sources::parse(&format!("[s]\nsecrets = [\"env:S\"]\n{toml}")).unwrap().get("s").unwrap().clone()
}

fn signed(source: &Source, secret: &Secret, body: &'static str) -> SignedRequest {
    let headers = HeaderMap::from_iter([("webhook-id".parse().unwrap(), HeaderValue::from_static("msg_1"))]);
    let mut request = SignedRequest {
        method: Method::POST,
        path: String::new(),
        query: None,
        headers,
        body: Bytes::from_static(body.as_bytes()),
    };
    sign(source, &mut request, secret, NOW_S).unwrap();
    request
}

#[track_caller]
fn check(source: &Source, request: &SignedRequest, secret: &str, expected: &str) {
    let told = explain(source, request, secret, NOW_S);
    assert!(told.iter().any(|told| told.contains(expected)), "{told:?}");
}

#[test]
fn a_changed_body_is_told() {
    let github = source("provider = \"github\"");
    let request = signed(&github, &Secret::new("k").unwrap(), "{\"a\": 1, \"b\": [1, 2]}\n");
    let with = |body: &'static str| SignedRequest { body: Bytes::from_static(body.as_bytes()), ..request.clone() };
    check(&github, &with("{\"a\": 1, \"b\": [1, 2]}"), "k", "line end");
    let request = signed(&github, &Secret::new("k").unwrap(), "{\"b\": [1, 2], \"a\": \"x\\\" , y\"}");
    let with = |body: &'static str| SignedRequest { body: Bytes::from_static(body.as_bytes()), ..request.clone() };
    check(&github, &with("{\"b\":[1,2],\"a\":\"x\\\" , y\"}"), "k", "parsed and written again");
    assert!(explain(&github, &with("{\"a\": 2}"), "k", NOW_S).is_empty());
    assert!(explain(&github, &request, "k", NOW_S).is_empty());
    assert!(explain(&github, &request, "other", NOW_S).is_empty());
}

#[test]
fn a_secret_read_the_wrong_way_is_told() {
    let svix = source("provider = \"svix\"");
    let text = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let raw = Secret::new(text).unwrap();
    let mut request = signed(&svix, &raw, "{}");
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        if let Some(value) = request.headers.get(name).cloned() {
            request.headers.insert(name.replace("webhook", "svix").parse::<http::HeaderName>().unwrap(), value);
        }
    }
    check(&svix, &request, text, "used as it is here, though this provider decodes it");
    let stripe = source("provider = \"stripe\"");
    let decoded = svix.secret(text).unwrap();
    check(&stripe, &signed(&stripe, &decoded, "{}"), text, "decoded from base64 here");
}

#[test]
fn a_signature_written_another_way_is_told() {
    let github = source("provider = \"github\"");
    let mut request = signed(&github, &Secret::new("k").unwrap(), "{}");
    let value = request.headers["x-hub-signature-256"].to_str().unwrap().trim_start_matches("sha256=").to_owned();
    request.headers.insert("x-hub-signature-256", value.parse().unwrap());
    check(&github, &request, "k", "lacks the prefix");
    request.headers.remove("x-hub-signature-256");
    check(&github, &request, "k", "header is missing");
}

#[test]
fn a_url_of_another_form_is_told() {
    let right = source("provider = \"square\"\npublic_url = \"https://a.io/hooks\"");
    let request = signed(&right, &Secret::new("k").unwrap(), "{}");
    check(&source("provider = \"square\"\npublic_url = \"https://a.io/hooks/\""), &request, "k", "slash at its end");
    check(&source("provider = \"square\"\npublic_url = \"http://a.io/hooks\""), &request, "k", "another scheme");
}

#[test]
fn a_late_delivery_is_told() {
    let stripe = source("provider = \"stripe\"");
    let request = signed(&stripe, &Secret::new("k").unwrap(), "{}");
    assert_eq!(explain(&stripe, &request, "k", NOW_S + 301), ["the signature is right, but its time is too far from now"]);
}
