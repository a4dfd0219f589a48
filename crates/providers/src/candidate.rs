//! What a tie between events of one version is decided by. Invariant: the same event gives the same candidate, whoever asks.

use bytes::Bytes;
use hookledger_core::{Candidate, Event};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Map, Value};

use crate::envelope::States;
use crate::facts::Facts;
use crate::request::SignedRequest;
use crate::sources::Source;

/// The object and its previous values as `event` carries them, for [`hookledger_core::newest`]. Without either where the
/// provider sends none, or the stored body cannot be read: then the tie is decided by what is left.
pub fn candidate(source: &Source, event: &Event) -> Candidate {
    let (object, previous) = states(source, event).unwrap_or_default();
    Candidate { event_id: event.event_id.clone(), lifecycle: event.lifecycle, object, previous }
}

fn states(source: &Source, event: &Event) -> Option<(Option<Value>, Option<Value>)> {
    let (envelope, wanted) = &source.provider.ties;
    let found = wanted.item.find(&event.body).ok()?;
    let request = stored_request(event);
    let facts = Facts { item: &found, ..Facts::unopened(&request, 0) };
    let (rule, _) = envelope.object(&facts, &event.event_type).ok()??;
    let States { state, previous, previous_under } = &rule.states;
    let value = |json: &str| serde_json::from_str::<Value>(json).ok();
    let state = state.as_ref().and_then(|place| place.json(&facts)).and_then(value);
    let previous = previous.as_ref().and_then(|place| place.json(&facts)).and_then(value);
    let previous = match (previous, previous_under) {
        (Some(Value::Object(changes)), Some(under)) => Some(Value::Object(former(changes, under))),
        (previous, _) => previous,
    };
    Some((state, previous))
}

/// `{"title": {"from": "a"}}` as `{"title": "a"}`.
fn former(changes: Map<String, Value>, under: &str) -> Map<String, Value> {
    changes.into_iter().filter_map(|(field, mut change)| Some((field, change.get_mut(under)?.take()))).collect()
}

/// The delivery as far as it was kept.
fn stored_request(event: &Event) -> SignedRequest {
    let headers = event
        .headers
        .iter()
        .filter_map(|(name, value)| Some((name.parse::<HeaderName>().ok()?, value.parse::<HeaderValue>().ok()?)));
    SignedRequest {
        method: Method::POST,
        path: String::new(),
        query: None,
        headers: headers.collect::<HeaderMap>(),
        body: Bytes::clone(&event.body),
    }
}
