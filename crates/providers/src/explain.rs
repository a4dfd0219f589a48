//! Why a delivery does not verify: people's commonest question. Invariant: it tells what would have verified, never how a
//! signature should have been, so that it is of no use to somebody without the secret.
//!
//! For a person at a terminal, with a captured delivery and the secret; a receiver never calls it.

use bytes::Bytes;
use hookledger_core::Secret;
use serde::de::IgnoredAny;

use crate::encoding::Encoding;
use crate::rejection::Rejection;
use crate::request::SignedRequest;
use crate::sources::Source;
use crate::verify::verify;

/// What would have made `request` verify: sentences for a person, the likeliest first. `secret` is the text of the secret.
/// Empty where nothing that was tried helps: then it is another secret, or another body than the one that was signed.
pub fn explain(source: &Source, request: &SignedRequest, secret: &str, now_s: i64) -> Vec<&'static str> {
    let secrets: Vec<Secret> = source.secret(secret).into_iter().collect();
    match verify(source, request, &secrets, None, now_s) {
        Err(Rejection::StaleTimestamp) => vec!["the signature is right, but its time is too far from now"],
        Err(Rejection::MalformedTimestamp) => vec!["the signed time is not written as the provider writes it"],
        Err(Rejection::NoSignature) => no_signature(source, request),
        Err(Rejection::BadSignature) => {
            let verifies = |request: &SignedRequest, secrets: &[Secret]| signed(source, request, secrets, now_s);
            let bodies = bodies(&request.body)
                .into_iter()
                .filter_map(|(told, body)| verifies(&SignedRequest { body, ..request.clone() }, &secrets).then_some(told));
            let keys = keys(secret).into_iter().filter_map(|(told, key)| verifies(request, &[key]).then_some(told));
            let urls = urls(source)
                .into_iter()
                .filter_map(|(told, source)| signed(&source, request, &secrets, now_s).then_some(told));
            let written = writings(source).into_iter();
            let written = written.filter_map(|(told, source)| signed(&source, request, &secrets, now_s).then_some(told));
            bodies.chain(keys).chain(urls).chain(written).collect()
        }
        Err(
            Rejection::Method
            | Rejection::TooLarge
            | Rejection::MalformedBody
            | Rejection::NoEventId
            | Rejection::BadEventId
            | Rejection::NoEventType,
        )
        | Ok(_) => Vec::new(),
    }
}

/// Whether the signature is right, whatever the body then is.
fn signed(source: &Source, request: &SignedRequest, secrets: &[Secret], now_s: i64) -> bool {
    match verify(source, request, secrets, None, now_s) {
        Ok(_) | Err(Rejection::StaleTimestamp) => true,
        Err(rejection) => rejection.status() == 400,
    }
}

fn no_signature(source: &Source, request: &SignedRequest) -> Vec<&'static str> {
    let mut headers = source.provider.definition.signature.at.headers();
    match headers.find_map(|name| request.headers.get(name)) {
        None => {
            vec!["the signature's header is missing: the provider has no secret for this webhook, or a proxy took it away"]
        }
        Some(_) => vec!["the header is there, but what is signed beside it (a time, an id) is missing or comes twice"],
    }
}

/// The body as something on its way may have changed it.
fn bodies(body: &Bytes) -> Vec<(&'static str, Bytes)> {
    const NEWLINE: &str = "the body has lost the line end that was signed, or has one too many: sign the bytes as received";
    const RESERIALISED: &str = "the body was parsed and written again: sign the bytes as received, before any parser";
    let trimmed = body.trim_ascii_end();
    let mut bodies = vec![
        (NEWLINE, Bytes::copy_from_slice(trimmed)),
        (NEWLINE, [trimmed, b"\n"].concat().into()),
        (NEWLINE, [trimmed, b"\r\n"].concat().into()),
    ];
    if serde_json::from_slice::<IgnoredAny>(body).is_ok() {
        let written = [(",", ":"), (", ", ": ")].map(|(comma, colon)| written_with(body, comma, colon));
        bodies.extend(written.map(|json| (RESERIALISED, json.into())));
    }
    bodies.retain(|(_, changed)| changed != body);
    bodies
}

/// The same JSON with other white space: as JavaScript writes it, or as Python does.
fn written_with(json: &[u8], comma: &str, colon: &str) -> Vec<u8> {
    let mut written = Vec::with_capacity(json.len() * 2);
    let (mut in_string, mut escaped) = (false, false);
    for &byte in json {
        match byte {
            _ if in_string => written.push(byte),
            b',' => written.extend_from_slice(comma.as_bytes()),
            b':' => written.extend_from_slice(colon.as_bytes()),
            b' ' | b'\t' | b'\n' | b'\r' => {}
            _ => written.push(byte),
        }
        in_string ^= byte == b'"' && !escaped;
        escaped = in_string && byte == b'\\' && !escaped;
    }
    written
}

/// The secret as other providers read theirs.
fn keys(secret: &str) -> Vec<(&'static str, Secret)> {
    use base64::Engine as _;
    let text = secret.trim();
    let bare = text.rsplit_once('_').map_or(text, |(_, bare)| bare);
    let decoded = base64::engine::general_purpose::STANDARD.decode(bare).unwrap_or_default();
    let keys = [
        ("the secret is used as it is here, though this provider decodes it", text.as_bytes().to_vec()),
        ("the secret is used without what stands before its last underscore", bare.as_bytes().to_vec()),
        ("the secret is decoded from base64 here, though this provider uses it as it is", decoded),
        (
            "the secret is decoded from hexadecimal here, though this provider does not",
            hex::decode(text).unwrap_or_default(),
        ),
    ];
    keys.into_iter().filter_map(|(told, key)| Secret::new(key).ok().map(|key| (told, key))).collect()
}

/// The public URL as people mistype it.
fn urls(source: &Source) -> Vec<(&'static str, Source)> {
    let Some(url) = source.settings.public_url.as_deref() else { return Vec::new() };
    let slash = url.strip_suffix('/').map_or_else(|| format!("{url}/"), str::to_owned);
    let scheme = match url.strip_prefix("https") {
        Some(rest) => format!("http{rest}"),
        None => url.replacen("http", "https", 1),
    };
    let with = |url: String| {
        let mut source = source.clone();
        source.settings.public_url = Some(url);
        source
    };
    vec![
        ("public_url has a slash at its end that the provider's URL has not, or lacks it", with(slash)),
        ("public_url has another scheme (http, https) than the provider's URL", with(scheme)),
    ]
}

/// The signature as other providers write theirs.
fn writings(source: &Source) -> Vec<(&'static str, Source)> {
    let with = |encoding: Encoding, prefix: bool| {
        let mut source = source.clone();
        let signature = &mut source.provider.definition.signature;
        signature.encoding = encoding;
        signature.list.prefix_is_optional(prefix);
        source
    };
    let own = source.provider.definition.signature.encoding;
    let other = if own == Encoding::Hex { Encoding::Base64 } else { Encoding::Hex };
    vec![
        ("the signature lacks the prefix that this provider writes before it", with(own, true)),
        ("the signature is in base64 where this provider writes hexadecimal, or the reverse", with(other, true)),
    ]
}
