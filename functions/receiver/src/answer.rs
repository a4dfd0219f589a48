//! What a sender is told. Invariant: an error says what an honest sender can mend, and tells an attacker nothing: every
//! failed verification looks the same.

use hookledger_core::EventId;
use hookledger_providers::{Answer, Rejection};
use lambda_http::http::{HeaderValue, StatusCode, header};
use lambda_http::{Body, Response};
use serde::Serialize;
use serde_json::json;

/// Seconds after which a sender may come back when nothing could take the event.
const RETRY_AFTER_S: &str = "30";

pub(crate) fn accepted(event_id: &EventId, events: usize) -> Response<Body> {
    outcome("accepted", event_id, events)
}

pub(crate) fn duplicate(event_id: &EventId, events: usize) -> Response<Body> {
    outcome("duplicate", event_id, events)
}

/// The id is the first event's where a delivery carries several.
fn outcome(outcome: &str, event_id: &EventId, events: usize) -> Response<Body> {
    #[derive(Serialize)]
    struct Outcome<'a> {
        outcome: &'a str,
        event_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        events: Option<usize>,
    }
    let events = (events > 1).then_some(events);
    json_response(StatusCode::OK, &Outcome { outcome, event_id: event_id.as_str(), events })
}

pub(crate) fn ignored() -> Response<Body> {
    json_response(StatusCode::OK, &json!({ "outcome": "ignored" }))
}

/// Some providers take an answer's body for a message to somebody, or insist on none; others on a status of their own.
pub(crate) fn as_wanted(accepted_status: Option<u16>, response: Response<Body>) -> Response<Body> {
    match accepted_status.and_then(|status| StatusCode::from_u16(status).ok()) {
        Some(status) if response.status().is_success() => {
            let mut empty = Response::new(Body::Empty);
            *empty.status_mut() = status;
            empty
        }
        Some(_) | None => response,
    }
}

pub(crate) fn healthy() -> Response<Body> {
    json_response(StatusCode::OK, &json!({ "status": "ok" }))
}

/// Exactly what the provider insists on. Text is sent as such: a REST API does not undo base64 unless it is told to.
pub(crate) fn handshake(answer: Answer) -> Response<Body> {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let body = String::from_utf8(answer.body).map_or_else(|bytes| Body::Binary(bytes.into_bytes()), Body::Text);
    respond(status, answer.content_type, body)
}

pub(crate) fn rejected(rejection: &Rejection) -> Response<Body> {
    let status = StatusCode::from_u16(rejection.status()).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = error(status, rejection.message());
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    }
    response
}

pub(crate) fn method_not_allowed(allow: &'static str) -> Response<Body> {
    let mut response = error(StatusCode::METHOD_NOT_ALLOWED, "this method is not supported here");
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
    response
}

pub(crate) fn not_found() -> Response<Body> {
    error(StatusCode::NOT_FOUND, "no webhook source of this name; POST to /webhooks/{source}")
}

pub(crate) fn unavailable() -> Response<Body> {
    let mut response = error(StatusCode::SERVICE_UNAVAILABLE, "the event could not be stored; deliver it again");
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_S));
    response
}

fn error(status: StatusCode, message: &str) -> Response<Body> {
    json_response(status, &json!({ "error": message }))
}

fn json_response(status: StatusCode, body: &impl Serialize) -> Response<Body> {
    // It cannot fail: keys are texts, and nothing is read from elsewhere.
    respond(status, "application/json", Body::Text(serde_json::to_string(body).unwrap_or_default()))
}

fn respond(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    // Some answers echo what was sent.
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_goes_out_as_the_text_that_it_is() {
        let challenge = |body: &[u8]| Answer { status: 200, content_type: "text/plain; charset=utf-8", body: body.to_vec() };
        for (body, sent) in [(&b"3eZbrw1aB"[..], Body::Text("3eZbrw1aB".into())), (b"\xff", Body::Binary(vec![0xff]))] {
            assert_eq!(*handshake(challenge(body)).body(), sent);
        }
    }
}
