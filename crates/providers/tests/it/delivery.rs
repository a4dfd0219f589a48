//! A delivery in the making: proven by the replay token, so that a test can be about what comes after the signature.

use bytes::Bytes;
use hookledger_core::{Event, Secret, VerifiedEvent};
use hookledger_providers::{Rejection, SignedRequest, Sources, Verified, verify};
use http::{HeaderMap, HeaderName, HeaderValue, Method};

pub(crate) const REPLAY_TOKEN: &str = "a replay token of thirty-two bytes or more";

pub(crate) struct Delivery {
    sources: Sources,
    request: SignedRequest,
}

impl Delivery {
    pub(crate) fn new(provider: &str, body: impl Into<Bytes>) -> Self {
        Self::with_settings(provider, "", body)
    }

    pub(crate) fn with_settings(provider: &str, settings: &str, body: impl Into<Bytes>) -> Self {
        let sources = Sources::parse(&format!("[s]\nprovider = {provider:?}\nsecrets = [\"env:S\"]\n{settings}\n"));
        let request = SignedRequest {
            method: Method::POST,
            path: "/webhooks/s".into(),
            query: None,
            headers: HeaderMap::new(),
            body: body.into(),
        };
        Self { sources: sources.unwrap(), request }.header("x-replay-token", REPLAY_TOKEN)
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.request.headers.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
        self
    }

    pub(crate) fn verify(&self) -> Result<Verified, Rejection> {
        let source = self.sources.get("s").unwrap();
        verify(source, &self.request, &[Secret::new("k").unwrap()], Some(&Secret::new(REPLAY_TOKEN).unwrap()), 1_700_000_000)
    }

    /// The one event it carries.
    pub(crate) fn event(&self) -> VerifiedEvent {
        match self.verify() {
            Ok(Verified::Events(events)) if events.len() == 1 => events.into_iter().next().unwrap(),
            other => panic!("not one event: {other:?}"),
        }
    }

    /// The candidate that the one event is in a tie.
    pub(crate) fn candidate(&self) -> hookledger_core::Candidate {
        let verified = self.event();
        let identity = verified.identity().clone();
        let event = Event {
            source: verified.source().clone(),
            event_id: identity.event_id,
            event_type: identity.event_type,
            object: identity.object,
            version: identity.version,
            lifecycle: identity.lifecycle,
            via: verified.via(),
            received_at: 0,
            headers: verified.headers().to_vec(),
            body: verified.body().clone(),
        };
        hookledger_providers::candidate(self.sources.get("s").unwrap(), &event)
    }
}
