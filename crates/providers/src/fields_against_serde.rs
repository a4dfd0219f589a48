//! [`Fields`] held against `serde_json`: over JSON and over what is nearly JSON both refuse the same, and find the same.

use std::fmt;

use proptest::prelude::*;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::fields::{Fields, Malformed};

const POINTERS: [&str; 8] = ["/a", "/a/b", "/b/a/0", "/b/1/a", "/0", "/0/b/a", "/2/a", "/b/a/a/a"];

fn ours(json: &[u8]) -> Result<Vec<Option<&str>>, Malformed> {
    let mut fields = Fields::default();
    for pointer in POINTERS {
        fields.add(pointer).unwrap();
    }
    fields.find(json)
}

fn theirs(json: &[u8]) -> Result<Vec<Option<&str>>, Malformed> {
    // Within quotes anything goes that is not ASCII, elsewhere nothing: as this character.
    let ascii: Vec<u8> = json.iter().map(|byte| if byte.is_ascii() { *byte } else { 0x7f }).collect();
    let whole: &RawValue = serde_json::from_slice(&ascii).map_err(|_| Malformed)?;
    let find = |pointer: &str| match pointed(whole.get(), pointer)? {
        Some(found) => {
            let start = found.as_ptr() as usize - ascii.as_ptr() as usize;
            std::str::from_utf8(&json[start..start + found.len()]).map(Some).map_err(|_| Malformed)
        }
        None => Ok(None),
    };
    POINTERS.into_iter().map(find).collect()
}

fn pointed<'a>(json: &'a str, pointer: &str) -> Result<Option<&'a str>, Malformed> {
    let Some((segment, rest)) = pointer.strip_prefix('/').map(|rest| rest.split_at(rest.find('/').unwrap_or(rest.len())))
    else {
        return Ok(Some(json));
    };
    if json.starts_with('[') {
        let members: Vec<&RawValue> = serde_json::from_str(json).unwrap();
        let member = segment.parse().ok().and_then(|index: usize| members.get(index));
        return member.map_or(Ok(None), |member| pointed(member.get(), rest));
    }
    let Ok(Members(members)) = serde_json::from_str(json) else { return Ok(None) };
    let mut named = members.into_iter().filter(|(name, _)| name == segment.as_bytes()).map(|(_, value)| value);
    let first = named.next();
    if named.next().is_some() {
        return Err(Malformed);
    }
    first.map_or(Ok(None), |value| pointed(value.get(), rest))
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

    fn visit_bytes<E>(self, name: &[u8]) -> Result<Self, E> {
        Ok(Self(name.to_vec()))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self, E> {
        Ok(Self(name.as_bytes().to_vec()))
    }
}

/// JSON as people write it and as nobody does, so small that keys meet what is looked for.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,9})?([eE][+-]?[0-9]{1,9})?",
        "(true|false|null)",
        "\"[ -!#-\\[\\]-~é\u{1f600}]{0,40}\"",
        "\"([a-z]{0,9}\\\\([\"\\\\/bfnrt]|u[0-9a-fA-F]{4}|ud8[0-9a-f]{2}))*\"",
    ];
    let key = "(\"a\"|\"b\"|\"0\"|\"\\\\u0061\"|\"\\\\u006[12]\"|\"\\\\ud800\"|\"[a-z_]{0,20}\")";
    let space = || "( |\n {0,20}|\r\n|\t)?";
    leaf.prop_recursive(5, 60, 5, move |inner| {
        let member = (space(), key, space(), space(), inner.clone(), space());
        let member = member.prop_map(|(a, key, b, c, value, d)| format!("{a}{key}{b}:{c}{value}{d}"));
        prop_oneof![
            prop::collection::vec(member, 0..5).prop_map(|members| format!("{{{}}}", members.join(","))),
            (prop::collection::vec(inner, 0..4), space()).prop_map(|(items, space)| format!("[{space}{}]", items.join(","))),
        ]
    })
}

/// Bytes that mean something in JSON, and some that are nowhere allowed.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        prop::sample::select(b"{}[]\",:\\/ \n\t\r-+.0123456789eEutrfalsn\0\x1f\x7f\x80\xc3\xff".to_vec()),
        any::<u8>()
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_same_is_found_in_json(before in "[ \n]{0,9}", json in json(), after in "[ \n]{0,9}") {
        let json = format!("{before}{json}{after}");
        prop_assert!(serde_json::from_str::<&RawValue>(&json).is_ok());
        prop_assert_eq!(ours(json.as_bytes()), theirs(json.as_bytes()));
    }

    #[test]
    fn the_same_is_refused_in_what_is_nearly_json(
        json in json(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..3, byte()), 1..4),
    ) {
        let mut json = json.into_bytes();
        for (at, change, byte) in changes {
            let at = at.index(json.len() + 1);
            match change {
                0 => json.insert(at, byte),
                1 => json.truncate(at.max(1)),
                _ => json.splice(at.min(json.len().saturating_sub(1))..json.len().min(at + 1), [byte]).for_each(drop),
            }
        }
        prop_assert_eq!(ours(&json), theirs(&json), "{}", String::from_utf8_lossy(&json));
    }

    #[test]
    fn any_bytes_are_read_the_same(json in prop::collection::vec(byte(), 0..40)) {
        prop_assert_eq!(ours(&json), theirs(&json));
    }
}
