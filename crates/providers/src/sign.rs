//! Signs a delivery as the provider would, for tests and for trying a deployment. Invariant: it reads the same definition as
//! `verify`, so that the two cannot drift apart.

use std::borrow::Cow;

use base64::Engine as _;
use hookledger_core::Secret;
use http::{HeaderName, HeaderValue};

use crate::facts::Facts;
use crate::request::SignedRequest;
use crate::signature::Encoding;
use crate::sources::Source;

/// Why a delivery cannot be signed here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsignable {
    #[error("this provider signs with a private key, which only it has")]
    PrivateKey,
    #[error("this provider writes its signature into the body")]
    InBody,
    #[error("a header that is signed is missing: {0}")]
    Missing(String),
    #[error("the secret cannot stand in a header")]
    Header,
}

/// Adds the headers that a signature needs to `request`. Those that are signed beside the body (`webhook-id`) and those that
/// name an event (`x-github-event`) are the caller's to set before.
pub fn sign(source: &Source, request: &mut SignedRequest, secret: &Secret, now_s: i64) -> Result<(), Unsignable> {
    let definition = &source.provider.definition;
    let signature = &definition.signature;
    let Some(header) = signature.at.headers().next().cloned() else { return Err(Unsignable::InBody) };
    let time = match &definition.timestamp {
        Some(time) if source.provider.signs_time() => Some((time, time.print(now_s))),
        Some(_) | None => None,
    };
    let signed_at = time.as_ref().map_or("", |(_, text)| text);
    let mac = {
        let form = request.form();
        let facts = Facts { form: &form, ..Facts::unopened(request, now_s) };
        let missing = || Unsignable::Missing(signature.templates_in_words());
        let template = signature.templates().first().ok_or_else(missing)?;
        let parts = template.fill(&facts, &source.settings, signed_at).ok().flatten().ok_or_else(missing)?;
        let parts: Vec<&[u8]> = parts.iter().map(Cow::as_ref).collect();
        signature.algorithm.sign(secret, &parts).ok_or(Unsignable::PrivateKey)?
    };
    let mut value = signature.list.written(&signature.encoding.encode(&mac));
    if let Some((time, text)) = &time {
        match time.at.headers().next() {
            Some(name) if *name == header => value = signature.list.joined(&time.list.written(text), &value),
            Some(name) => put(request, name.clone(), text)?,
            None => return Err(Unsignable::InBody),
        }
    }
    let header = if signature.numbered { format!("{header}-1").parse().map_err(|_| Unsignable::Header)? } else { header };
    put(request, header, &value)
}

fn put(request: &mut SignedRequest, name: HeaderName, value: &str) -> Result<(), Unsignable> {
    request.headers.insert(name, HeaderValue::from_str(value).map_err(|_| Unsignable::Header)?);
    Ok(())
}

impl Encoding {
    fn encode(self, bytes: &[u8]) -> String {
        match self {
            Self::Hex => hex::encode(bytes),
            Self::Base64 => base64::engine::general_purpose::STANDARD.encode(bytes),
            Self::Text => String::from_utf8_lossy(bytes).into_owned(),
        }
    }
}
