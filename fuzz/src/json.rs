//! A body's fields, as `hookledger_providers` reads them and as `serde_json` does. Invariant: both refuse the same, and find the same.

use std::fmt;
use std::sync::OnceLock;

use bytes::Bytes;
use hookledger_core::Secret;
use hookledger_providers::{Rejection, SignedRequest, Source, Sources, Verified, verify};
use http::{HeaderMap, HeaderValue, Method};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What is looked for: fields of real bodies, and some that bodies made by chance have as often.
const POINTERS: [&str; 11] =
    ["/type", "/data/object/id", "/data/object", "/a", "/a/b", "/b/a/0", "/b/1/a", "/0", "/0/b/a", "/2/a", "/b/a/a/a"];
/// An event's type is no longer.
const TYPE_BYTES_MAX: usize = 255;

/// Panics where the two differ over `body`.
pub(crate) fn compare(body: &Bytes) {
    if let Some(ours) = ours(body) {
        assert_eq!(ours, theirs(body).ok(), "{}", body.escape_ascii());
    }
}

/// The type of the event that carries `body`; none inside where it is refused, and none at all where it is too long.
fn ours(body: &Bytes) -> Option<Option<String>> {
    static LOOKING: OnceLock<(Source, Secret)> = OnceLock::new();
    let (source, secret) = LOOKING.get_or_init(|| {
        let sources = Sources::parse(&definition()).unwrap_or_else(|error| panic!("{error}"));
        let source = sources.get("s").unwrap_or_else(|| unreachable!("it is written below"));
        (source.clone(), source.secret("secret").unwrap_or_else(|error| panic!("{error}")))
    });
    let headers = [("x-token", "secret"), ("x-id", "1")];
    let headers: HeaderMap = headers
        .into_iter()
        .map(|(name, value)| (name.parse().unwrap_or_else(|_| unreachable!("{name}")), HeaderValue::from_static(value)))
        .collect();
    let request = SignedRequest { method: Method::POST, path: String::new(), query: None, headers, body: body.clone() };
    match verify(source, &request, std::slice::from_ref(secret), None, 0) {
        Ok(Verified::Events(events)) => Some(events.first().map(|event| event.identity().event_type.clone())),
        Err(Rejection::MalformedBody) => Some(None),
        Err(Rejection::TooLarge) => None,
        other => panic!("{other:?}"),
    }
}

/// What is found becomes the event's type, each field behind its number.
fn definition() -> String {
    let places: Vec<String> =
        POINTERS.iter().enumerate().map(|(n, pointer)| format!("\"text:{n}\", \"body:{pointer}\"")).collect();
    format!(
        r#"
[s]
secrets = ["env:S"]

[s.provider]
signature = {{ algorithm = "token", at = "header:x-token", encoding = "text" }}

[s.provider.event]
id = "header:x-id"
type = [{}]
"#,
        places.join(", ")
    )
}

/// Why a body is refused.
#[derive(Debug)]
struct Refused;

impl<E: std::error::Error> From<E> for Refused {
    fn from(_: E) -> Self {
        Self
    }
}

fn theirs(body: &[u8]) -> Result<String, Refused> {
    // Within quotes anything goes that is not ASCII, elsewhere nothing: as this character.
    let ascii: Vec<u8> = body.iter().map(|byte| if byte.is_ascii() { *byte } else { 0x7f }).collect();
    let whole: &RawValue = serde_json::from_slice(&ascii)?;
    let mut words = Vec::new();
    for (n, pointer) in POINTERS.into_iter().enumerate() {
        words.push(n.to_string());
        let Some(found) = pointed(whole.get(), pointer)? else { continue };
        let start = found.as_ptr() as usize - ascii.as_ptr() as usize;
        let json = std::str::from_utf8(&body[start..start + found.len()])?;
        let word = match json.as_bytes() {
            [b'"', ..] => serde_json::from_str(json)?,
            [b'n' | b'{' | b'[', ..] | [] => continue,
            _ => json.to_owned(),
        };
        if !word.trim().is_empty() {
            words.push(word);
        }
    }
    let event_type = words.join(".");
    let plain = event_type.len() <= TYPE_BYTES_MAX && !event_type.chars().any(char::is_control);
    if plain { Ok(event_type) } else { Err(Refused) }
}

fn pointed<'a>(json: &'a str, pointer: &str) -> Result<Option<&'a str>, Refused> {
    let Some(path) = pointer.strip_prefix('/') else { return Ok(Some(json)) };
    let (segment, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
    if json.starts_with('[') {
        let members: Vec<&RawValue> = serde_json::from_str(json)?;
        let member = segment.parse().ok().and_then(|index: usize| members.get(index));
        return member.map_or(Ok(None), |member| pointed(member.get(), rest));
    }
    let Ok(Members(members)) = serde_json::from_str(json) else { return Ok(None) };
    let mut named = members.into_iter().filter(|(name, _)| name == segment.as_bytes()).map(|(_, value)| value);
    match (named.next(), named.next()) {
        (Some(_), Some(_)) => Err(Refused),
        (Some(value), None) => pointed(value.get(), rest),
        (None, _) => Ok(None),
    }
}

struct Members<'a>(Vec<(Vec<u8>, &'a RawValue)>);

impl<'a> Deserialize<'a> for Members<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self(Vec::new()))
    }
}

impl<'a> Visitor<'a> for Members<'a> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'a>>(mut self, mut map: M) -> Result<Self, M::Error> {
        while let Some(Name(name)) = map.next_key()? {
            self.0.push((name, map.next_value()?));
        }
        Ok(self)
    }
}

/// A key's bytes: one with half a surrogate pair is no text.
struct Name(Vec<u8>);

impl<'a> Deserialize<'a> for Name {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Self(Vec::new()))
    }
}

impl Visitor<'_> for Name {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_bytes<E: Error>(self, name: &[u8]) -> Result<Self, E> {
        Ok(Self(name.to_vec()))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self, E> {
        Ok(Self(name.as_bytes().to_vec()))
    }
}
