//! What a delivery would be to the receiver: the provider's definition says it, here as there.

use anyhow::{Context, Result};
use hookledger_core::{Identity, Secret, SourceName};
use hookledger_providers::{SignedRequest, Source, Verified, verify};
use hookledger_runtime::{load_sources, now};
use http::{HeaderMap, HeaderName, HeaderValue, Method};

use crate::ended::BadInput;
use crate::replay::feed::Delivery;
use crate::replay::receiver::Answered;
use crate::session::Session;

pub(crate) enum Read {
    Events(Vec<Identity>),
    Not(Answered),
}

pub(crate) fn source(name: &SourceName, session: &Session) -> Result<Source> {
    let sources = load_sources(&session.env)?;
    let unknown = || BadInput(format!("no source of the name {name} in sources.toml (SOURCES_FILE names another)"));
    Ok(sources.get(name.as_str()).ok_or_else(unknown)?.clone())
}

pub(crate) fn read(source: &Source, delivery: &Delivery) -> Result<Read> {
    // Stands in for the signature on this side only.
    let token = Secret::new("-".repeat(64))?;
    let mut headers = HeaderMap::new();
    headers.insert("x-replay-token", HeaderValue::from_bytes(token.expose())?);
    for (name, value) in &delivery.headers {
        let name: HeaderName = name.parse().with_context(|| format!("a header of {}", delivery.id))?;
        headers.insert(name, value.parse().with_context(|| format!("a header of {}", delivery.id))?);
    }
    let path = format!("/webhooks/{}", source.name());
    let request = SignedRequest { method: Method::POST, path, query: None, headers, body: delivery.body.clone() };
    Ok(match verify(source, &request, &[], Some(&token), now() / 1_000_000) {
        Ok(Verified::Events(events)) => Read::Events(events.iter().map(|event| event.identity().clone()).collect()),
        Ok(Verified::Handshake(_) | Verified::Ignored { .. }) => Read::Not(Answered::Ignored),
        Err(rejection) => Read::Not(Answered::Rejected(rejection.message().to_owned())),
    })
}
