//! What `sign` signs, `verify` takes, and nothing that was changed since.

use bytes::Bytes;
use hookledger_core::Secret;
use hookledger_providers::{SignedRequest, Source, about, sign, verify};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use proptest::prelude::*;

use crate::malformed::source_of;

const NOW_S: i64 = 1_700_000_000;

fn signed(source: &Source, definition: &str, secret: &Secret, body: &[u8]) -> Option<SignedRequest> {
    let mut headers = HeaderMap::new();
    // What is signed beside the body is the caller's to set.
    for place in definition.split("{header:").skip(1) {
        let name = place.split(['}', ' ', '?']).next().unwrap();
        headers.insert(name.parse::<HeaderName>().unwrap(), HeaderValue::from_static("id_1"));
    }
    let mut request = SignedRequest {
        method: Method::POST,
        path: "/webhooks/s".into(),
        query: None,
        headers,
        body: Bytes::copy_from_slice(body),
    };
    if definition.contains("form_sorted") || definition.contains("payload = \"xml-base64\"") {
        request.headers.insert("content-type", HeaderValue::from_static("application/x-www-form-urlencoded"));
    }
    sign(source, &mut request, secret, NOW_S).ok().map(|()| request)
}

/// Whether the signature is not what a delivery fails by.
fn genuine(source: &Source, request: &SignedRequest, secret: &Secret, now_s: i64) -> bool {
    !matches!(verify(source, request, std::slice::from_ref(secret), None, now_s), Err(rejection) if rejection.status() == 401)
}

/// A body with the places that a provider writes its time or signature into; any will do where it does not.
fn body_for(provider: &str, text: &str) -> String {
    let text = serde_json::Value::from(text);
    match provider {
        "adyen" => format!(
            r#"{{"live":"false","notificationItems":[{{"NotificationRequestItem":{{"additionalData":{{"hmacSignature":""}},"eventCode":"AUTHORISATION","pspReference":{text}}}}},{{"NotificationRequestItem":{{"additionalData":{{"hmacSignature":"old"}},"eventCode":"CAPTURE","pspReference":{text}}}}}]}}"#
        ),
        "braintree" => {
            use base64::Engine as _;
            let xml = "<notification><kind>check</kind><timestamp>2023-11-14T22:13:20Z</timestamp></notification>";
            let xml = base64::engine::general_purpose::STANDARD.encode(format!("{xml}<!--{}-->", text.to_string().len()));
            form_urlencoded::Serializer::new(String::new())
                .append_pair("bt_payload", &xml)
                .append_pair("bt_signature", "")
                .finish()
        }
        "linear" => format!(r#"{{"action":"create","type":"Comment","webhookTimestamp":0,"data":{{"id":{text}}}}}"#),
        "mailgun" => format!(
            r#"{{"signature":{{"timestamp":"0","token":{text},"signature":""}},"event-data":{{"id":{text},"event":"opened"}}}}"#
        ),
        "microsoft-graph" => format!(r#"{{"value":[{{"clientState":"","id":{text},"changeType":"created"}}]}}"#),
        _ => String::new(),
    }
}

#[test]
fn every_provider_with_a_shared_secret_can_be_signed_for_and_no_other() {
    let secret = Secret::new("k").unwrap();
    for about in about() {
        let body = body_for(about.name, "x");
        let body = if body.is_empty() { "{}" } else { &body };
        let shared = about.definition.contains("algorithm = \"hmac-") || about.definition.contains("algorithm = \"token\"");
        let signed = signed(source_of(about.name).get("s").unwrap(), about.definition, &secret, body.as_bytes());
        assert_eq!(signed.is_some(), shared, "{}", about.name);
    }
}

#[test]
fn a_body_without_the_place_of_its_signature_is_not_signed() {
    for (provider, body, told) in [
        ("mailgun", r#"{"signature":{"token":"t","timestamp":"1"}}"#, "/signature/signature"),
        ("mailgun", "no JSON", "not one that this provider sends"),
        ("linear", "{}", "webhookTimestamp"),
        ("aws-sns", "{}", "private key"),
    ] {
        let (sources, secret) = (source_of(provider), Secret::new("k").unwrap());
        let mut request = SignedRequest {
            method: Method::POST,
            path: String::new(),
            query: None,
            headers: HeaderMap::new(),
            body: body.into(),
        };
        let error = sign(sources.get("s").unwrap(), &mut request, &secret, NOW_S).unwrap_err().to_string();
        assert!(error.contains(told), "{provider}: {error}");
    }
}

proptest! {
    #[test]
    fn sign_and_verify_agree_and_no_change_is_taken(
        provider in prop::sample::select(about().collect::<Vec<_>>()),
        secret in "[!-~]{1,40}",
        body in prop_oneof![Just("a=1&b=2".to_owned()), "[ -~é\\n]{1,200}"],
        at in any::<prop::sample::Index>(),
        flip in 1_u8..255,
    ) {
        let sources = source_of(provider.name);
        let source = sources.get("s").unwrap();
        let secret = Secret::new(secret).unwrap();
        let body = Some(body_for(provider.name, &body)).filter(|body| !body.is_empty()).unwrap_or(body);
        let Some(request) = signed(source, provider.definition, &secret, body.as_bytes()) else { return Ok(()) };
        prop_assert!(genuine(source, &request, &secret, NOW_S), "{}", provider.name);

        let other = Secret::new([secret.expose(), b"x"].concat()).unwrap();
        prop_assert!(!genuine(source, &request, &other, NOW_S), "{} with another secret", provider.name);

        let whole = ["algorithm = \"token\"", "form_sorted", "body_not_covered = true", "payload = \"xml-base64\""];
        if !whole.iter().any(|word| provider.definition.contains(word)) {
            let mut changed = request.body.to_vec();
            let n = at.index(changed.len());
            changed[n] ^= flip;
            let changed = SignedRequest { body: changed.into(), ..request.clone() };
            prop_assert!(!genuine(source, &changed, &secret, NOW_S), "{} with another body", provider.name);
        }
        if provider.definition.contains("payload = \"xml-base64\"") {
            let changed = String::from_utf8_lossy(&request.body).replacen("bt_payload=", "bt_payload=A", 1).into_bytes();
            let changed = SignedRequest { body: changed.into(), ..request.clone() };
            prop_assert!(!genuine(source, &changed, &secret, NOW_S), "{} with another payload", provider.name);
        }
        let ids: Vec<HeaderName> = request.headers.keys().filter(|name| request.headers[*name] == "id_1").cloned().collect();
        for name in ids {
            let mut changed = request.clone();
            changed.headers.insert(name.clone(), HeaderValue::from_static("id_2"));
            // An alternative header that is not read is not signed either.
            let read = !(provider.definition.contains(" | header:webhook-id") && name == "webhook-id");
            prop_assert!(!read || !genuine(source, &changed, &secret, NOW_S), "{} with another {name}", provider.name);
        }
        if provider.definition.contains("{timestamp}") && provider.definition.contains("tolerance_s") {
            prop_assert!(!genuine(source, &request, &secret, NOW_S + 100_000), "{} too late", provider.name);
            prop_assert!(!genuine(source, &request, &secret, NOW_S - 100_000), "{} too early", provider.name);
        }
    }
}
