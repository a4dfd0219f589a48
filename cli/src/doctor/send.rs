//! A signed test event, sent as its provider would and followed through the ledger. Invariant: nothing is sent that would not
//! verify, and its type is one that only a handler for every type takes.

use std::time::Duration;

use anyhow::{Result, anyhow};
use hookledger_commands as commands;
use hookledger_commands::{Finding, State};
use hookledger_core::{EventRef, Outcome, Secret, Status};
use hookledger_providers::{SignedRequest, Source, Verified, sign, verify};
use hookledger_runtime::{error_chain, load_sources, now};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::secret;
use crate::reach::Reach;
use crate::replay::pace::http;
use crate::replay::receiver::secure_url;
use crate::session::Session;
use crate::terminal::safe;
use crate::when;

const EVENT_TYPE: &str = "hookledger.doctor";
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// One event to each source whose secret can be read here; each is waited for up to `within`.
pub(super) async fn send(to: &str, within: Duration, session: &Session, reach: &mut Reach) -> Result<Vec<Finding>> {
    let base = secure_url(to, "--to")?;
    let base = base.as_str().trim_end_matches('/');
    let http = http()?;
    let mut findings = Vec::new();
    // What is wrong with the sources is told where they are looked at.
    let Ok(sources) = load_sources(&session.env) else { return Ok(findings) };
    for source in sources.iter() {
        let subject = format!("test event of {}", source.name());
        let (request, key) = match test_event(session, source).await {
            Ok(made) => made,
            Err(error) => {
                findings.push(Finding::new(subject, State::Unknown, format!("not sent: {}", error_chain(error.as_ref()))));
                continue;
            }
        };
        let url = format!("{base}/webhooks/{}", source.name());
        let sent = http.post(url).headers(request.headers).body(request.body).send().await;
        let (state, told) = match sent {
            Ok(response) => {
                let status = response.status();
                let said: Value = response.json().await.unwrap_or_default();
                match (status.is_success(), said["outcome"].as_str()) {
                    (true, Some("accepted")) => followed(reach, &key, within).await,
                    (true, outcome) => {
                        (State::Notice, format!("answered {status} as {}", safe(outcome.unwrap_or("nothing"))))
                    }
                    (false, _) if status == 401 => (
                        State::Wrong,
                        "refused: the receiver has another secret than the one here, or another clock".to_owned(),
                    ),
                    (false, _) => (State::Wrong, format!("answered {status}: see the receiver's log")),
                }
            }
            Err(error) => (State::Wrong, error_chain(&error.without_url())),
        };
        findings.push(Finding::new(subject, state, told));
    }
    Ok(findings)
}

async fn test_event(session: &Session, source: &Source) -> Result<(SignedRequest, EventRef)> {
    let mut unreadable = anyhow!("its provider alone can sign");
    let mut readable: Option<Secret> = None;
    for reference in source.secret_refs() {
        match secret(session, source, reference).await {
            Ok(secret) => readable = readable.or(Some(secret)),
            Err(error) => unreadable = error,
        }
    }
    let secret = readable.ok_or(unreadable)?;
    let mut request = unsigned(source)?;
    let now_s = now() / 1_000_000;
    sign(source, &mut request, &secret, now_s)?;
    match verify(source, &request, &[secret], None, now_s) {
        Ok(Verified::Events(events)) => {
            let first = events.first().ok_or_else(|| anyhow!("it would carry no event"))?;
            let key = first.key();
            Ok((request, key))
        }
        Ok(Verified::Handshake(_)) => Err(anyhow!("it would be a handshake of its provider's")),
        Ok(Verified::Ignored { reason }) => Err(anyhow!("it would be ignored: {reason}")),
        Err(rejection) => Err(anyhow!("no test event is known for its provider: {}", rejection.message())),
    }
}

/// With an id and a type wherever some provider has them.
fn unsigned(source: &Source) -> Result<SignedRequest> {
    let id = format!("hookledger_doctor_{}", now());
    let time = when::show(now());
    let body = json!({
        "id": id, "event_id": id, "object": "event", "type": EVENT_TYPE, "event_type": EVENT_TYPE,
        "created": now() / 1_000_000, "created_at": time, "occurred_at": time, "data": { "id": id },
    });
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    for name in ["webhook-id", "svix-id", "x-github-delivery", "x-shopify-webhook-id", "x-shopify-event-id"] {
        headers.insert(name, id.parse()?);
    }
    for name in ["x-github-event", "x-shopify-topic"] {
        headers.insert(name, HeaderValue::from_static(EVENT_TYPE));
    }
    headers.insert("x-shopify-shop-domain", HeaderValue::from_static("doctor.myshopify.com"));
    let path = format!("/webhooks/{}", source.name());
    Ok(SignedRequest { method: Method::POST, path, query: None, headers, body: body.to_string().into() })
}

/// What became of an event that the receiver has accepted.
async fn followed(reach: &mut Reach, key: &EventRef, within: Duration) -> (State, String) {
    let start = Instant::now();
    loop {
        let shown = match reach.ask(commands::Show { key: key.clone() }).await {
            Ok(shown) => shown,
            Err(error) => {
                let why = error_chain(error.as_ref());
                return (State::Unknown, format!("accepted; what became of it cannot be read: {why}"));
            }
        };
        let late = start.elapsed() >= within;
        let seconds = within.as_secs();
        match shown.map(|detail| (detail.row.status, detail.row.outcome, detail.row.last_error)) {
            Some((Status::Settled, Some(Outcome::Ignored) | None, _)) => {
                return (
                    State::Right,
                    format!("accepted, and settled as ignored within {} s", start.elapsed().as_secs() + 1),
                );
            }
            Some((Status::Settled, Some(outcome @ (Outcome::Applied | Outcome::Stale)), _)) => {
                return (State::Notice, format!("accepted, and settled as {outcome}: a handler takes every type"));
            }
            Some((Status::Failed | Status::DeadLetter, _, error)) => {
                let why = safe(&error.unwrap_or_default());
                return (State::Wrong, format!("accepted, and then the worker failed: {why}"));
            }
            Some((Status::Claimed | Status::Processing, _, _)) if late => {
                let told = "is the worker running, and does the queue invoke it?";
                return (State::Wrong, format!("accepted, and not settled within {seconds} s: {told}"));
            }
            None if late => {
                let told = "does this command read the receiver's own database?";
                return (State::Wrong, format!("accepted, and not in the ledger within {seconds} s: {told}"));
            }
            Some((Status::Claimed | Status::Processing, _, _)) | None => sleep(LOOK_EVERY).await,
        }
    }
}
