//! A body's fields, as `hookledger_providers` reads them and as `serde_json` does. Invariant: both refuse the same, and find the same.

use std::fmt;
use std::sync::OnceLock;

use bytes::Bytes;
use hookledger_core::Secret;
use hookledger_providers::{Rejection, SignedRequest, Source, Sources, Verified, verify};
use http::{HeaderMap, HeaderValue, Method};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What it looks for becomes the event's type.
const SOURCE: &str = r#"
[s]
secrets = ["env:S"]

[s.provider]
signature = { algorithm = "token", at = "header:x-token", encoding = "text" }

[s.provider.event]
id = "header:x-id"
type = ["text:t", "body:/type", "body:/data/object/id", "body:/data/object"]
"#;
const LOOKED_FOR: [&[&str]; 3] = [&["type"], &["data", "object", "id"], &["data", "object"]];

pub(crate) fn compare(body: &Bytes) {
    let Some(ours) = ours(body) else { return };
    // Within quotes anything goes that is not ASCII, elsewhere nothing: as this character.
    let ascii: Vec<u8> = body.iter().map(|byte| if byte.is_ascii() { *byte } else { 0x7f }).collect();
    let is_json = serde_json::from_slice::<&RawValue>(&ascii).is_ok();
    match std::str::from_utf8(body) {
        Ok(text) => assert_eq!(ours, theirs(text), "{text:?}"),
        Err(_) => assert!(is_json || ours.is_none(), "{body:?}"),
    }
}

/// The type of the event that carries `body`; none inside where it is refused, and none at all where it is too long.
fn ours(body: &Bytes) -> Option<Option<String>> {
    static LOOKING: OnceLock<(Source, Secret)> = OnceLock::new();
    let (source, secret) = LOOKING.get_or_init(|| {
        let sources = Sources::parse(SOURCE).unwrap_or_else(|error| panic!("{error}"));
        let source = sources.get("s").unwrap_or_else(|| unreachable!("it is written above"));
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

fn theirs(body: &str) -> Option<String> {
    let whole: &RawValue = serde_json::from_str(body).ok()?;
    let mut event_type = "t".to_owned();
    for path in LOOKED_FOR {
        let word = match at(whole.get(), path).ok()? {
            Some(json) if json.starts_with('"') => serde_json::from_str(json).ok()?,
            Some(json) if !json.starts_with(['n', '{', '[']) => json.to_owned(),
            Some(_) | None => String::new(),
        };
        if !word.trim().is_empty() {
            event_type = format!("{event_type}.{word}");
        }
    }
    (event_type.len() <= 255 && !event_type.chars().any(char::is_control)).then_some(event_type)
}

/// Stands there twice.
struct Twice;

fn at<'a>(json: &'a str, path: &[&str]) -> Result<Option<&'a str>, Twice> {
    let Some((name, path)) = path.split_first() else { return Ok(Some(json)) };
    let Ok(Members(members)) = serde_json::from_str(json) else { return Ok(None) };
    // A key that is no text, for half a surrogate pair, is no name.
    let named = |key: &RawValue| serde_json::from_str::<String>(key.get()).is_ok_and(|key| key == *name);
    let mut values = members.into_iter().filter(|(key, _)| named(key)).map(|(_, value)| value);
    match (values.next(), values.next()) {
        (Some(_), Some(_)) => Err(Twice),
        (Some(value), None) => at(value.get(), path),
        (None, _) => Ok(None),
    }
}

struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

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
        while let Some(member) = map.next_entry()? {
            self.0.push(member);
        }
        Ok(self)
    }
}
