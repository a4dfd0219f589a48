//! From a delivery to the events it carries.

use std::borrow::Cow;
use std::collections::HashSet;

use bytes::Bytes;
use hookledger_core::{Proof, Secret, VerifiedEvent};
use http::{HeaderName, Method};
use smallvec::SmallVec;

use crate::facts::Facts;
use crate::handshake::Ignore;
use crate::kept;
use crate::opened::Opened;
use crate::rejection::Rejection;
use crate::request::SignedRequest;
use crate::signature::Texts;
use crate::sources::Source;
use hookledger_json::{Found, Malformed};

/// Carries the operator's replay token.
pub(crate) const REPLAY_TOKEN: HeaderName = HeaderName::from_static("x-replay-token");

/// What a genuine delivery is.
#[derive(Debug)]
pub enum Verified {
    /// At least one event; some providers send several in one delivery.
    Events(Vec<VerifiedEvent>),
    /// The provider asks whether this endpoint is ours. Answer exactly this; there is nothing to claim.
    Handshake(Answer),
    /// Genuine, but nothing to route: answer 200. Several providers disable an endpoint that fails.
    Ignored { reason: &'static str },
}

/// An answer that a provider insists on. Send it with `X-Content-Type-Options: nosniff`: some of it is an echo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub content_type: &'static str,
    pub body: Vec<u8>,
}

/// `secrets` are all live ones of the source; `now_s` is Unix time in seconds. The replay token stands in for the
/// signature and its time, and for nothing else.
///
/// Order: method and size, before anything is hashed; unsigned handshakes; the signature; the signed time, so
/// that `stale_timestamp` in a metric means an honest but late sender; only then the body.
pub fn verify(
    source: &Source,
    request: &SignedRequest,
    secrets: &[Secret],
    replay_token: Option<&Secret>,
    now_s: i64,
) -> Result<Verified, Rejection> {
    let handshakes = &source.provider.definition.handshake;
    if request.method != Method::POST && !handshakes.iter().any(|handshake| handshake.is_for(&request.method)) {
        return Err(Rejection::Method);
    }
    if request.body.len() > source.body_bytes_max() {
        return Err(Rejection::TooLarge);
    }
    if let Some(answer) = unsigned_handshake(source, request, secrets, now_s)? {
        return Ok(answer);
    }
    let signed = |method: &Method| handshakes.iter().any(|handshake| handshake.signed && handshake.is_for(method));
    if request.method != Method::POST && !signed(&request.method) {
        return Err(Rejection::Method);
    }

    let replay = replay_proof(request, replay_token)?;
    let is_replay = replay.is_some();
    let proof = match replay {
        Some(proof) => Some(proof),
        None if source.provider.opens_early => None,
        None => {
            let unopened = Facts::unopened(request, now_s);
            let given = Given::of(source, &unopened);
            let proof = given.prove(source, &unopened, secrets)?;
            if !source.provider.times_in_body {
                check_time(source, given.time.as_deref(), now_s)?;
            }
            Some(proof)
        }
    };
    // Before there is proof, a body that cannot be read is told like any other that is not genuine.
    let unreadable = if proof.is_none() { Rejection::NoSignature } else { Rejection::MalformedBody };
    let opened = Opened::new(&source.provider, request).map_err(|_| unreadable)?;
    let root = opened.root().map_err(|_| unreadable)?;
    let items = opened.items(&root, is_replay).map_err(|_| unreadable)?;
    let mut found = SmallVec::<[Found<'_>; 1]>::with_capacity(items.len());
    for item in &items {
        found.push(opened.item(item).map_err(|_| unreadable)?);
    }
    let each = || found.iter().map(|item| opened.facts(&root, item, now_s));
    let whole = opened.facts(&root, found.first().map_or(&root[..], |item| &item[..]), now_s);
    let proof = match proof {
        Some(proof) => proof,
        None if source.provider.definition.signature.each => prove_each(source, each(), secrets)?,
        None => Given::of(source, &whole).prove(source, &whole, secrets)?,
    };
    if !is_replay && (source.provider.opens_early || source.provider.times_in_body) {
        check_time(source, signed_time(source, &whole).as_deref(), now_s)?;
    }

    for handshake in handshakes.iter().filter(|handshake| handshake.signed && handshake.is_for(&request.method)) {
        if let Some(answer) = handshake.answer(&whole, &source.settings, secrets)? {
            return Ok(answer);
        }
    }
    if request.method != Method::POST {
        return Err(Rejection::Method);
    }
    events(source, &proof, &opened, items.iter().zip(each()))
}

fn unsigned_handshake(
    source: &Source,
    request: &SignedRequest,
    secrets: &[Secret],
    now_s: i64,
) -> Result<Option<Verified>, Rejection> {
    let unsigned = source.provider.definition.handshake.iter().filter(|handshake| !handshake.signed);
    for handshake in unsigned.filter(|handshake| handshake.is_for(&request.method)) {
        let form = if handshake.is_in_body() { request.form() } else { Vec::new() };
        let facts = Facts { form: &form, ..Facts::unopened(request, now_s) };
        if let Some(answer) = handshake.answer(&facts, &source.settings, secrets)? {
            return Ok(Some(answer));
        }
    }
    Ok(None)
}

/// A token that is presented and wrong is refused even with a good signature: somebody is guessing.
fn replay_proof(request: &SignedRequest, replay_token: Option<&Secret>) -> Result<Option<Proof>, Rejection> {
    let Some(configured) = replay_token else { return Ok(None) };
    let Some(presented) = request.headers.get(REPLAY_TOKEN) else { return Ok(None) };
    Proof::replay_token(configured, presented.as_bytes()).map(Some).ok_or(Rejection::BadSignature)
}

/// As the provider wrote it; `None` where it stands nowhere, or cannot be told.
fn signed_time<'a>(source: &'a Source, facts: &Facts<'a>) -> Option<Cow<'a, str>> {
    source.provider.definition.timestamp.as_ref()?.text(facts).ok()?
}

/// What a delivery says of its signature, read once where both stand in one text.
struct Given<'a> {
    signatures: Result<Texts<'a>, Malformed>,
    time: Option<Cow<'a, str>>,
}

impl<'a> Given<'a> {
    fn of(source: &'a Source, facts: &Facts<'a>) -> Self {
        let definition = &source.provider.definition;
        let signatures = definition.signature.texts(facts);
        let time = match (&definition.timestamp, &signatures) {
            (Some(time), Ok(texts)) if source.provider.times_beside_signature => {
                texts.first().and_then(|text| time.within(text))
            }
            (Some(_) | None, Ok(_) | Err(Malformed)) => signed_time(source, facts),
        };
        Self { signatures, time }
    }

    fn prove(&self, source: &Source, facts: &Facts<'_>, secrets: &[Secret]) -> Result<Proof, Rejection> {
        let provider = &source.provider;
        let time = if provider.signs_time { self.time.as_deref().ok_or(Rejection::NoSignature)? } else { "" };
        provider.definition.signature.prove(facts, &self.signatures, &source.settings, time, secrets)
    }
}

fn prove_each<'a>(
    source: &'a Source,
    each: impl Iterator<Item = Facts<'a>>,
    secrets: &[Secret],
) -> Result<Proof, Rejection> {
    let mut proof = Err(Rejection::NoSignature);
    for facts in each {
        proof = Ok(Given::of(source, &facts).prove(source, &facts, secrets)?);
    }
    proof
}

fn check_time(source: &Source, time: Option<&str>, now_s: i64) -> Result<(), Rejection> {
    let Some(signed) = &source.provider.definition.timestamp else { return Ok(()) };
    signed.check(time.ok_or(Rejection::MalformedTimestamp)?, &source.settings, now_s)
}

fn events<'a>(
    source: &Source,
    proof: &Proof,
    opened: &Opened<'_>,
    items: impl ExactSizeIterator<Item = (&'a Cow<'a, Bytes>, Facts<'a>)>,
) -> Result<Verified, Rejection> {
    let envelope = &source.provider.definition.event;
    let id_rules = source.settings.id.as_ref().unwrap_or(&envelope.id);
    let mut seen = (items.len() > 1).then(|| HashSet::with_capacity(items.len()));
    let mut events = Vec::with_capacity(items.len());
    let mut nothing = Ignore::NoEvents;
    for (item, facts) in items {
        if !envelope.is_of_mode(&facts, source.settings.livemode).map_err(|_| Rejection::MalformedBody)? {
            nothing = Ignore::OtherMode;
            continue;
        }
        let identity = envelope.identity(&facts, id_rules)?;
        // A batch may say one thing twice (SendGrid); the ledger takes it once.
        if seen.as_mut().is_some_and(|seen| !seen.insert(identity.event_id.clone())) {
            continue;
        }
        let (headers, body) = kept::parts(&source.provider, &facts, opened, item);
        events.push(VerifiedEvent::new(proof, source.name().clone(), identity, headers, body));
    }
    Ok(if events.is_empty() { nothing.verified() } else { Verified::Events(events) })
}
