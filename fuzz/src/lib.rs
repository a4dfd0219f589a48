//! What the fuzzers run: plain functions over bytes, so that a test can run them too, without libFuzzer.
//!
//! Invariant: an input is text that a person can read and write (see [`Input`]), so that a finding is a file to look at.

mod input;
mod json;
mod seeds;
mod source;

use bytes::Bytes;
use hookledger_core::{Event, Secret};
use hookledger_providers::{SignedRequest, Verified, candidate, key_fetch, verify};
use http::HeaderValue;

pub use input::Input;
pub use seeds::seeds;

const REPLAY_TOKEN: &str = "a replay token of thirty-two bytes or more";
/// No input can be signed with it but by chance.
const UNKNOWN_SECRET: &str = "a secret that no input was ever signed with";

/// The parsing of headers: whatever they say, nothing is taken that was not signed, and nothing is fetched from elsewhere.
pub fn headers(data: &[u8]) {
    let Some(input) = Input::parse(data) else { return };
    let source = source::of(&input.provider);
    let Ok(secret) = Secret::new(UNKNOWN_SECRET) else { return };
    let verified = verify(source, &input.request, &[secret], None, input.now_s);
    assert!(!matches!(verified, Ok(Verified::Events(_))), "taken without a signature: {verified:?}");
    if let Ok(Some(fetch)) = key_fetch(source, &input.request) {
        let host = fetch.url().strip_prefix("https://").and_then(|rest| rest.split('/').next()).unwrap_or_default();
        let pinned = [".amazonaws.com", ".amazonaws.com.cn", ".paypal.com", ".plaid.com"];
        assert!(pinned.iter().any(|end| host.ends_with(end)) && !host.contains(['@', ':', '\\']), "{}", fetch.url());
        // No answer may break it, whatever it is.
        let _ = fetch.key(&input.request.body, input.now_s);
    }
}

/// Every definition, with a secret of the input's choice: what one secret proves, another does not.
pub fn deliveries(data: &[u8]) {
    let Some(input) = Input::parse(data) else { return };
    let source = source::of(&input.provider);
    let Ok(secret) = source.secret(&input.secret) else { return };
    if !matches!(verify(source, &input.request, std::slice::from_ref(&secret), None, input.now_s), Ok(Verified::Events(_))) {
        return;
    }
    let mut other = secret.expose().to_vec();
    if let Some(last) = other.last_mut() {
        *last ^= 1;
    }
    let Ok(other) = Secret::new(other) else { return };
    let verified = verify(source, &input.request, &[other], None, input.now_s);
    assert!(!matches!(verified, Ok(Verified::Events(_))), "taken with another secret: {verified:?}");
}

/// The fields of a body, wherever it came from.
///
/// # Panics
/// Where `serde_json` refuses what we take, takes what we refuse, or finds something else in it.
pub fn json(body: &[u8]) {
    json::compare(&Bytes::copy_from_slice(body));
}

/// The identity of what is proven: the same each time, within the ledger's limits, and each event of a delivery once; and what
/// is read out of its body, as `serde_json` reads it.
pub fn identity(data: &[u8]) {
    let Some(mut input) = Input::parse(data) else { return };
    json::compare(&input.request.body);
    let source = source::of(&input.provider);
    let Ok(token) = Secret::new(REPLAY_TOKEN) else { return };
    input.request.headers.insert("x-replay-token", HeaderValue::from_static(REPLAY_TOKEN));
    let events = |request: &SignedRequest| match verify(source, request, &[], Some(&token), input.now_s) {
        Ok(Verified::Events(events)) => events,
        Ok(Verified::Handshake(_) | Verified::Ignored { .. }) | Err(_) => Vec::new(),
    };
    let (found, again) = (events(&input.request), events(&input.request));
    assert_eq!(found.len(), again.len());
    let mut ids = std::collections::HashSet::new();
    for (event, again) in found.iter().zip(&again) {
        let identity = event.identity();
        assert_eq!(identity, again.identity());
        assert!(ids.insert(identity.event_id.clone()), "one event twice: {identity:?}");
        assert!(identity.event_id.as_str().len() <= 255 && identity.event_type.len() <= 255);
        let event = Event {
            source: event.source().clone(),
            event_id: identity.event_id.clone(),
            event_type: identity.event_type.clone(),
            object: identity.object.clone(),
            version: identity.version,
            lifecycle: identity.lifecycle,
            via: event.via(),
            received_at: 0,
            headers: event.headers().to_vec(),
            body: Bytes::clone(event.body()),
        };
        assert_eq!(candidate(source, &event).event_id, event.event_id);
    }
}
