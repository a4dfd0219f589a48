//! Signs a delivery as the provider would, for tests and for trying a deployment. Invariant: it reads the same definition as
//! `verify`, so that the two cannot drift apart.

use std::borrow::Cow;

use bytes::Bytes;
use hookledger_core::Secret;
use http::{HeaderName, HeaderValue};

use crate::facts::Facts;
use crate::opened::Opened;
use crate::place::Place;
use crate::request::SignedRequest;
use crate::sources::Source;
use crate::splice::splice;
use hookledger_json::Malformed;

/// Why a delivery cannot be signed here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsignable {
    #[error("this provider signs with a private key, which only it has")]
    PrivateKey,
    #[error("the body is not one that this provider sends")]
    Body,
    #[error("something that the provider signs, or writes its signature into, is missing: {0}")]
    Missing(String),
    #[error("the secret cannot stand in a header")]
    Header,
}

/// Adds to `request` what a signature needs. What is signed beside the body (`webhook-id`) and names an event
/// (`x-github-event`) is the caller's to set before. Where the provider writes the time or its signature into the body, the
/// body has those fields already, with anything in them.
pub fn sign(source: &Source, request: &mut SignedRequest, secret: &Secret, now_s: i64) -> Result<(), Unsignable> {
    let signature = &source.provider.definition.signature;
    if signature.algorithm.sign(secret, &[]).is_none() {
        return Err(Unsignable::PrivateKey);
    }
    if source.provider.times_in_body {
        request.body = with_time(source, request, now_s)?;
    }
    if let Some(header) = signature.at.headers().next() {
        return in_header(source, request, secret, now_s, header.clone());
    }
    request.body = match signature.at.form_fields().next() {
        Some(field) => in_form(source, request, secret, now_s, field)?,
        None => in_json(source, request, secret, now_s)?,
    };
    Ok(())
}

fn in_header(
    source: &Source,
    request: &mut SignedRequest,
    secret: &Secret,
    now_s: i64,
    header: HeaderName,
) -> Result<(), Unsignable> {
    let definition = &source.provider.definition;
    let signature = &definition.signature;
    let time = match &definition.timestamp {
        Some(time) if source.provider.signs_time => Some((time, time.print(now_s))),
        Some(_) | None => None,
    };
    let signed_at = time.as_ref().map_or("", |(_, text)| text);
    let form = request.form();
    let mut value = signed(source, &Facts { form: &form, ..Facts::unopened(request, now_s) }, secret, signed_at)?;
    drop(form);
    if let Some((time, text)) = &time {
        match time.at.headers().next() {
            Some(name) if *name == header => value = signature.list.joined(&time.list.written(text, None), &value),
            Some(name) => put(request, name.clone(), text)?,
            None => {}
        }
    }
    let header = if signature.numbered { format!("{header}-1").parse().map_err(|_| Unsignable::Header)? } else { header };
    put(request, header, &value)
}

fn in_form(source: &Source, request: &SignedRequest, secret: &Secret, now_s: i64, field: &str) -> Result<Bytes, Unsignable> {
    let form = request.form();
    let value = signed(source, &Facts { form: &form, ..Facts::unopened(request, now_s) }, secret, "")?;
    let mut body = form_urlencoded::Serializer::new(String::new());
    body.extend_pairs(form.iter().filter(|(name, _)| name != field)).append_pair(field, &value);
    Ok(body.finish().into())
}

/// Into each event of the body, where each has its own.
fn in_json(source: &Source, request: &SignedRequest, secret: &Secret, now_s: i64) -> Result<Bytes, Unsignable> {
    let definition = &source.provider.definition;
    replaced(source, request, now_s, &definition.signature.at, |facts| {
        let time = match &definition.timestamp {
            Some(time) => time.text(facts).ok().flatten().unwrap_or_default(),
            None => Cow::Borrowed(""),
        };
        signed(source, facts, secret, &time)
    })
}

fn with_time(source: &Source, request: &SignedRequest, now_s: i64) -> Result<Bytes, Unsignable> {
    let Some(time) = &source.provider.definition.timestamp else { return Ok(request.body.clone()) };
    replaced(source, request, now_s, &time.at, |_| Ok(time.print(now_s)))
}

/// The body with what `text` says at `place`, as a string where one stands there, else as it is.
fn replaced(
    source: &Source,
    request: &SignedRequest,
    now_s: i64,
    place: &Place,
    text: impl Fn(&Facts<'_>) -> Result<String, Unsignable>,
) -> Result<Bytes, Unsignable> {
    let not_theirs = |Malformed| Unsignable::Body;
    let opened = Opened::new(&source.provider, request).map_err(not_theirs)?;
    let root = opened.root().map_err(not_theirs)?;
    let items = opened.items(&root, false).map_err(not_theirs)?;
    let found = items.iter().map(|item| opened.item(item)).collect::<Result<Vec<_>, _>>().map_err(not_theirs)?;
    let mut parts = Vec::with_capacity(found.len());
    for item in &found {
        let facts = opened.facts(&root, item, now_s);
        let old = place.json(&facts).ok_or_else(|| Unsignable::Missing(place.to_string()))?;
        let new = text(&facts)?;
        parts.push((old.as_bytes(), if old.starts_with('"') { serde_json::Value::from(new).to_string() } else { new }));
    }
    Ok(splice(request.body.clone(), parts))
}

/// The signature as it is written.
fn signed(source: &Source, facts: &Facts<'_>, secret: &Secret, time: &str) -> Result<String, Unsignable> {
    let signature = &source.provider.definition.signature;
    let missing = || Unsignable::Missing(signature.templates_in_words());
    let template = signature.templates().first().ok_or_else(missing)?;
    let parts = template.fill(facts, &source.settings, time).ok().flatten().ok_or_else(missing)?;
    let parts: Vec<&[u8]> = parts.iter().map(Cow::as_ref).collect();
    let mac = signature.algorithm.sign(secret, &parts).ok_or(Unsignable::PrivateKey)?;
    Ok(signature.list.written(&signature.encoding.encode(&mac), source.settings.public_key.as_deref()))
}

fn put(request: &mut SignedRequest, name: HeaderName, value: &str) -> Result<(), Unsignable> {
    request.headers.insert(name, HeaderValue::from_str(value).map_err(|_| Unsignable::Header)?);
    Ok(())
}
