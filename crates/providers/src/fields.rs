//! Picks the few fields that matter out of a JSON body, in one pass and without a tree of the rest.
//!
//! Invariants: a field that is looked for and stands there twice is refused, because two readers could take it for two
//! things; what is not looked for is only skipped, so neither its depth nor its numbers nor its escapes can do harm.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Most children of one node: as many as bits in the set of those already seen.
const CHILDREN_MAX: usize = 64;

/// The fields to look for, by JSON pointer (RFC 6901, without `~` escapes). A field's slot is the order it was added in.
#[derive(Debug, Clone)]
pub(crate) struct Fields {
    nodes: Vec<Node>,
    pointers: Vec<String>,
}

#[derive(Debug, Clone, Default)]
struct Node {
    slot: Option<usize>,
    children: Vec<(String, usize)>,
}

/// The body is not JSON, or says one thing twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Each field's JSON text by slot, `None` where the body has no such field.
pub(crate) type Found<'a> = Vec<Option<&'a str>>;

impl Default for Fields {
    fn default() -> Self {
        Self { nodes: vec![Node::default()], pointers: Vec::new() }
    }
}

impl Fields {
    pub(crate) fn is_empty(&self) -> bool {
        self.pointers.is_empty()
    }

    /// The slot of `pointer`, or `None` where there are too many fields beside it.
    pub(crate) fn add(&mut self, pointer: &str) -> Option<usize> {
        if let Some(slot) = self.pointers.iter().position(|known| known == pointer) {
            return Some(slot);
        }
        let mut at = 0;
        for segment in pointer.split('/').skip(1) {
            let known = self.nodes[at].children.iter().find(|(name, _)| name == segment).map(|(_, node)| *node);
            at = match known {
                Some(node) => node,
                None if self.nodes[at].children.len() == CHILDREN_MAX => return None,
                None => {
                    let node = self.nodes.len();
                    self.nodes.push(Node::default());
                    self.nodes[at].children.push((segment.to_owned(), node));
                    node
                }
            };
        }
        let slot = self.pointers.len();
        self.pointers.push(pointer.to_owned());
        self.nodes[at].slot = Some(slot);
        Some(slot)
    }

    /// What is found where there is no JSON.
    pub(crate) fn nothing(&self) -> Found<'static> {
        vec![None; self.pointers.len()]
    }

    pub(crate) fn find<'a>(&self, json: &'a [u8]) -> Result<Found<'a>, Malformed> {
        let mut found = vec![None; self.pointers.len()];
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        Walk { fields: self, node: 0, found: &mut found }.deserialize(&mut deserializer).map_err(|_| Malformed)?;
        deserializer.end().map_err(|_| Malformed)?;
        Ok(found)
    }
}

/// A scalar's text: a string without its quotes, a number or a boolean as it is written. `None` for null, objects and arrays.
pub(crate) fn scalar(json: &str) -> Result<Option<Cow<'_, str>>, Malformed> {
    match json.as_bytes().first() {
        Some(b'"') if !json.contains('\\') => Ok(json.get(1..json.len() - 1).map(Cow::Borrowed)),
        Some(b'"') => serde_json::from_str(json).map(|text: String| Some(Cow::Owned(text))).map_err(|_| Malformed),
        Some(b'n' | b'{' | b'[') | None => Ok(None),
        Some(_) => Ok(Some(Cow::Borrowed(json))),
    }
}

struct Walk<'w, 'a> {
    fields: &'w Fields,
    node: usize,
    found: &'w mut Found<'a>,
}

impl<'a> DeserializeSeed<'a> for Walk<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        let node = &self.fields.nodes[self.node];
        let Some(slot) = node.slot else { return deserializer.deserialize_any(self) };
        let json: &'a RawValue = serde::Deserialize::deserialize(deserializer)?;
        self.found[slot] = Some(json.get());
        if !node.children.is_empty() && json.get().starts_with(['{', '[']) {
            serde_json::Deserializer::from_str(json.get()).deserialize_any(self).map_err(D::Error::custom)?;
        }
        Ok(())
    }
}

impl<'a> Visitor<'a> for Walk<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        let node = &self.fields.nodes[self.node];
        let mut seen = 0_u64;
        while let Some(child) = map.next_key_seed(Name(node))? {
            let Some(child) = child else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if seen & (1 << child) != 0 {
                return Err(M::Error::custom("a field stands there twice"));
            }
            seen |= 1 << child;
            map.next_value_seed(Walk { fields: self.fields, node: node.children[child].1, found: self.found })?;
        }
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut seq: S) -> Result<(), S::Error> {
        let node = &self.fields.nodes[self.node];
        for index in 0_usize.. {
            let child = node.children.iter().find(|(name, _)| name.parse() == Ok(index));
            let more = match child {
                Some((_, child)) => {
                    seq.next_element_seed(Walk { fields: self.fields, node: *child, found: self.found })?.is_some()
                }
                None => seq.next_element::<IgnoredAny>()?.is_some(),
            };
            if !more {
                break;
            }
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Reads a key as the position of a node's child. As bytes, because a key with half a surrogate pair is none of ours.
struct Name<'n>(&'n Node);

impl<'a> DeserializeSeed<'a> for Name<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Option<usize>, E> {
        self.visit_bytes(name.as_bytes())
    }

    fn visit_bytes<E>(self, name: &[u8]) -> Result<Option<usize>, E> {
        Ok(self.0.children.iter().position(|(known, _)| known.as_bytes() == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pointers: &[&str], json: &str, expected: Result<&[Option<&str>], Malformed>) {
        let mut fields = Fields::default();
        for pointer in pointers {
            fields.add(pointer).unwrap();
        }
        assert_eq!(fields.find(json.as_bytes()), expected.map(<[_]>::to_vec));
    }

    #[test]
    fn fields_are_found_by_pointer_and_left_as_they_are_written() {
        let json = r#" {"skip": [{"id": 0}], "id": "evt\u005f1", "n": 12345678901234567890123, "data": {"x": null, "object": {"id": 1.50}}} "#;
        let pointers = ["/id", "/n", "/data/object/id", "/data/x", "/data/none", "/skip/0/id", "/skip/1/id"];
        let expected =
            [Some(r#""evt\u005f1""#), Some("12345678901234567890123"), Some("1.50"), Some("null"), None, Some("0"), None];
        check(&pointers, json, Ok(&expected));
    }

    #[test]
    fn a_field_and_its_part_can_both_be_looked_for() {
        check(&["/c", "/c/id"], r#"{"c": {"id": "C1"}}"#, Ok(&[Some(r#"{"id": "C1"}"#), Some(r#""C1""#)]));
        check(&["/c", "/c/id"], r#"{"c": "C1"}"#, Ok(&[Some(r#""C1""#), None]));
    }

    #[test]
    fn the_empty_pointer_is_the_whole_body() {
        check(&["", "/0/a"], "[{\"a\": 1}]", Ok(&[Some("[{\"a\": 1}]"), Some("1")]));
    }

    #[test]
    fn a_field_that_stands_there_twice_is_refused_only_where_it_matters() {
        check(&["/id"], r#"{"id": "a", "id": "b"}"#, Err(Malformed));
        check(&["/data/id"], r#"{"data": {"id": "a"}, "data": {"id": "b"}}"#, Err(Malformed));
        check(&["/id"], r#"{"x": 1, "x": 2, "id": "a"}"#, Ok(&[Some(r#""a""#)]));
    }

    #[test]
    fn what_is_skipped_cannot_do_harm() {
        let deep = format!(r#"{{"x": {}{}, "id": 1}}"#, "[".repeat(100_000), "]".repeat(100_000));
        check(&["/id"], &deep, Ok(&[Some("1")]));
        check(&["/id"], r#"{"x": "\ud800", "\ud800": 1e400000, "id": 1}"#, Ok(&[Some("1")]));
        let mut fields = Fields::default();
        fields.add("/id").unwrap();
        assert!(fields.find(b"{\"x\": \"\xff\xfe\", \"id\": 1}").is_ok());
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for json in ["", "x", "{", "{}x", "\u{feff}{}", r#"{"id": 01}"#, r#"{"id" "a"}"#] {
            check(&["/id"], json, Err(Malformed));
        }
    }

    #[test]
    fn a_scalar_has_text_and_nothing_else_has() {
        assert_eq!(scalar(r#""a\nb""#).unwrap().unwrap(), "a\nb");
        assert_eq!(scalar("-1.50").unwrap().unwrap(), "-1.50");
        assert_eq!(scalar("true").unwrap().unwrap(), "true");
        for none in ["null", "{}", "[1]"] {
            assert_eq!(scalar(none), Ok(None));
        }
        assert_eq!(scalar(r#""\ud800""#), Err(Malformed));
    }
}
