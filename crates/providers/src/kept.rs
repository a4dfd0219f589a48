//! What of a delivery is stored with its event. Invariant: no header and no field that a definition names as secret.

use bytes::Bytes;
use http::header::CONTENT_TYPE;

use crate::definition::Provider;
use crate::facts::Facts;
use crate::opened::Opened;
use crate::place::Place;
use crate::splice::splice;

/// Stands in the place of a secret.
const BLANK: &str = "redacted";

/// The headers to keep, and the event's own part of the body: a handler sees JSON whether it came bare or in a form field.
pub(crate) fn parts(
    provider: &Provider,
    facts: &Facts<'_>,
    opened: &Opened<'_>,
    item: &Bytes,
) -> (Vec<(String, String)>, Bytes) {
    let request = facts.request;
    let unwrapped = opened.is_form && opened.json.is_some();
    let mut headers = Vec::with_capacity(provider.kept_headers.len());
    for name in &provider.kept_headers {
        let value = if name == CONTENT_TYPE { opened.content_type } else { request.headers.get(name) };
        match value.and_then(|value| value.to_str().ok()) {
            Some(_) if unwrapped && name == CONTENT_TYPE => {
                headers.push((name.as_str().to_owned(), "application/json".to_owned()))
            }
            Some(value) => headers.push((name.as_str().to_owned(), value.to_owned())),
            None => {}
        }
    }
    let body = match &opened.json {
        Some(_) => item.clone(),
        None => request.body.clone(),
    };
    (headers, redacted(provider, facts, body, opened.json.is_some()))
}

fn redacted(provider: &Provider, facts: &Facts<'_>, body: Bytes, is_json: bool) -> Bytes {
    let places = &provider.definition.redact;
    if is_json {
        let secrets = places.iter().filter_map(|place| place.json(facts)).filter(|json| json.starts_with('"'));
        splice(body, secrets.map(|secret| (secret.as_bytes(), format!("{BLANK:?}"))).collect())
    } else {
        let is_secret = |name: &[u8]| places.iter().flat_map(Place::form_fields).any(|field| field.as_bytes() == name);
        let form = body.clone();
        let pairs = form.split(|byte| *byte == b'&').filter_map(|pair| {
            let equals = pair.iter().position(|byte| *byte == b'=')?;
            is_secret(&pair[..equals]).then(|| (&pair[equals + 1..], BLANK.to_owned()))
        });
        splice(body, pairs.collect())
    }
}
