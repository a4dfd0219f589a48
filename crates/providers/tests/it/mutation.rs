//! No byte that was signed can be changed: over the vectors of every provider.

use std::collections::HashMap;

use hookledger_providers::{SignedRequest, about};
use http::{HeaderName, HeaderValue};
use serde_json::Value;

use crate::told::told;
use crate::vector::{Prepared, vectors};

/// Where not all of a body is signed: tokens, those that say so, and Braintree, whose body holds signatures for other keys too.
/// A checksum that is signed does not cover a body from a forger, but from chance.
fn covers_body(definition: &str) -> bool {
    let not_covered = ["body_not_covered = true", "algorithm = \"token\"", "payload = \"xml-base64\""];
    definition.contains("{crc32}") || !not_covered.iter().any(|word| definition.contains(word))
}

/// The genuine vectors whose signature counts: an unsigned ping or challenge is taken whatever it says.
fn signed() -> Vec<(String, &'static str, String, Prepared)> {
    let definitions: HashMap<&str, &'static str> = about().map(|about| (about.name, about.definition)).collect();
    let genuine = vectors().into_iter().filter(|(_, vector)| vector.valid && vector.body.is_some());
    let prepared = genuine.map(|(provider, vector)| {
        let prepared = Prepared::of(&provider, &vector).unwrap();
        (provider.clone(), definitions[provider.as_str()], vector.name, prepared)
    });
    prepared.filter(|(.., prepared)| prepared.unsigned().is_err()).collect()
}

#[track_caller]
fn refused(prepared: &Prepared, changed: &SignedRequest, what: &str) {
    let verified = prepared.verify(changed);
    let taken = verified.as_ref().map_or_else(|rejection| rejection.status() != 401, |_| true);
    assert!(!taken, "{what} changed: {}", told(&verified));
}

#[test]
fn a_body_that_was_changed_in_any_place_is_never_taken() {
    let mut changes = 0;
    for (provider, _, name, prepared) in signed().into_iter().filter(|(_, definition, ..)| covers_body(definition)) {
        let body = &prepared.request.body;
        for at in (0..body.len()).step_by(1 + body.len() / 200) {
            let mut changed = body.to_vec();
            changed[at] ^= 1;
            let changed = SignedRequest { body: changed.into(), ..prepared.request.clone() };
            refused(&prepared, &changed, &format!("{provider} {name}: byte {at}"));
            changes += 1;
        }
    }
    assert!(changes > 10_000, "only {changes} changes were tried");
}

#[test]
fn a_header_that_is_signed_cannot_be_changed_in_any_place() {
    let mut changes = 0;
    for (provider, definition, name, prepared) in signed() {
        for header in signed_headers(definition) {
            let Some(value) = prepared.request.headers.get(&header).cloned() else { continue };
            for at in 0..value.len() {
                let mut changed = value.as_bytes().to_vec();
                // To another of the same sort, so that it is still a number where it was one.
                changed[at] = if changed[at] == b'1' { b'2' } else { b'1' };
                let mut request = prepared.request.clone();
                request.headers.insert(header.clone(), HeaderValue::from_bytes(&changed).unwrap());
                refused(&prepared, &request, &format!("{provider} {name}: byte {at} of {header}"));
                changes += 1;
            }
        }
    }
    assert!(changes > 1_000, "only {changes} changes were tried");
}

#[test]
fn a_field_that_is_signed_beside_the_body_cannot_be_changed() {
    let mut changes = 0;
    for (provider, definition, name, prepared) in signed() {
        let Ok(body) = serde_json::from_slice::<Value>(&prepared.request.body) else { continue };
        let fields = definition.split("{body:").skip(1).map(|rest| rest.split(['}', '?']).next().unwrap());
        for field in fields {
            let mut changed = body.clone();
            let event = if changed.get("notificationItems").is_some() { "/notificationItems/0" } else { "" };
            let Some(value) = changed.pointer_mut(&format!("{event}{field}")) else { continue };
            *value = Value::from(format!("{} and more", value.as_str().unwrap_or_default()));
            let changed = SignedRequest { body: changed.to_string().into(), ..prepared.request.clone() };
            refused(&prepared, &changed, &format!("{provider} {name}: {field}"));
            changes += 1;
        }
    }
    assert!(changes > 40, "only {changes} changes were tried");
}

/// The headers that are signed whole, beside the one with the signature.
fn signed_headers(definition: &str) -> Vec<HeaderName> {
    let named = |rest: &str| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap().parse().unwrap();
    let signature = definition.split_once("[signature]").map_or("", |(_, rest)| rest.split("\n[").next().unwrap());
    let at: Vec<HeaderName> = signature
        .lines()
        .filter(|line| line.starts_with("at = "))
        .flat_map(|line| line.split("header:").skip(1).map(named))
        .collect();
    let time = definition.split_once("[timestamp]").map_or("", |(_, rest)| rest.split("\n[").next().unwrap());
    let signed = signature.lines().filter(|line| line.starts_with("signed = "));
    let signed = signed.chain(time.lines().filter(|line| line.starts_with("at = ")));
    signed.flat_map(|line| line.split("header:").skip(1).map(named)).filter(|name| !at.contains(name)).collect()
}
