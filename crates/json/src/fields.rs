//! Picks the few fields that matter out of a JSON body, in one pass and without a tree of the rest.
//!
//! Invariants: a body that is not JSON is refused, wherever the fault stands; so is a field that is looked for and stands there
//! twice, because two readers could take it for two things. What is not looked for is only skipped, so neither its depth nor its
//! numbers nor its escapes can do harm. What is found is UTF-8.

use crate::scan::{Inside, Key, after_value, after_white_space, key};
use crate::text::unescaped;

/// Most children of one node: as many as bits in the set of those already seen.
const CHILDREN_MAX: usize = 64;

/// The fields to look for, by JSON pointer (RFC 6901, without `~` escapes). A field's slot is the order it was added in.
#[derive(Debug, Clone)]
pub struct Fields {
    nodes: Vec<Node>,
    pointers: Vec<String>,
}

#[derive(Debug, Clone, Default)]
struct Node {
    slot: Option<usize>,
    children: Vec<(String, usize)>,
    /// A bit for each length of a child's name, so that most keys are known to be none without looking at them.
    lengths: u64,
}

/// The body is not JSON, or says one thing twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// Each field's JSON text by slot, `None` where the body has no such field.
pub type Found<'a> = Vec<Option<&'a str>>;

impl Default for Fields {
    fn default() -> Self {
        Self { nodes: vec![Node::default()], pointers: Vec::new() }
    }
}

impl Fields {
    pub fn is_empty(&self) -> bool {
        self.pointers.is_empty()
    }

    /// The slot of `pointer`, or `None` where there are too many fields beside it.
    pub fn add(&mut self, pointer: &str) -> Option<usize> {
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
                    self.nodes[at].lengths |= length_bit(segment.len());
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
    pub fn nothing(&self) -> Found<'static> {
        vec![None; self.pointers.len()]
    }

    pub fn find<'a>(&self, json: &'a [u8]) -> Result<Found<'a>, Malformed> {
        let mut found = self.nothing();
        let rest = self.value(&self.nodes[0], after_white_space(json), &mut found)?;
        if after_white_space(rest).is_empty() { Ok(found) } else { Err(Malformed) }
    }

    /// What is left after the value of `node`. Recurses no deeper than a pointer is long.
    fn value<'a>(&self, node: &Node, json: &'a [u8], found: &mut [Option<&'a str>]) -> Result<&'a [u8], Malformed> {
        let rest = match json {
            [b'{', inner @ ..] if !node.children.is_empty() => self.object(node, inner, found)?,
            [b'[', inner @ ..] if !node.children.is_empty() => self.array(node, inner, found)?,
            _ => after_value(json)?,
        };
        if let Some(slot) = node.slot {
            let text = json.get(..json.len() - rest.len()).unwrap_or_default();
            found[slot] = Some(std::str::from_utf8(text).map_err(|_| Malformed)?);
        }
        Ok(rest)
    }

    fn object<'a>(&self, node: &Node, inner: &'a [u8], found: &mut [Option<&'a str>]) -> Result<&'a [u8], Malformed> {
        let mut seen = 0_u64;
        let (mut more, mut rest) = Inside::Object.first(inner)?;
        while more {
            let (key, value) = key(rest)?;
            let rest_of = match node.child(key) {
                Some(child) if seen & (1 << child) != 0 => return Err(Malformed),
                Some(child) => {
                    seen |= 1 << child;
                    self.value(&self.nodes[node.children[child].1], value, found)?
                }
                None => after_value(value)?,
            };
            (more, rest) = Inside::Object.next(rest_of)?;
        }
        Ok(rest)
    }

    fn array<'a>(&self, node: &Node, inner: &'a [u8], found: &mut [Option<&'a str>]) -> Result<&'a [u8], Malformed> {
        let (mut more, mut rest) = Inside::Array.first(inner)?;
        for index in 0_usize.. {
            if !more {
                break;
            }
            let after = match node.children.iter().find(|(name, _)| name.parse() == Ok(index)) {
                Some((_, child)) => self.value(&self.nodes[*child], rest, found)?,
                None => after_value(rest)?,
            };
            (more, rest) = Inside::Array.next(after)?;
        }
        Ok(rest)
    }
}

impl Node {
    /// The position of the child that a key names.
    fn child(&self, key: Key<'_>) -> Option<usize> {
        if key.escaped {
            // A key that cannot be text, for half a surrogate pair, is none of ours.
            let key = unescaped(std::str::from_utf8(key.text).ok()?).ok()?;
            return self.children.iter().position(|(name, _)| *name == key);
        }
        if self.lengths & length_bit(key.text.len()) == 0 {
            return None;
        }
        let first = key.text.first();
        let is_key =
            |name: &str| name.len() == key.text.len() && name.as_bytes().first() == first && name.as_bytes() == key.text;
        self.children.iter().position(|(name, _)| is_key(name))
    }
}

fn length_bit(bytes: usize) -> u64 {
    1 << (bytes % 64)
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
    fn every_bracket_has_its_own_end_however_deep_it_stands() {
        let nested = |depth: usize, end: &str| {
            let (start, ends) = (r#"[{"x":"#.repeat(depth), "}]".repeat(depth - 1));
            format!(r#"{{"x": {start}0{end}{ends}, "id": 1}}"#)
        };
        for depth in [1, 31, 32, 33, 63, 64, 65, 1000] {
            check(&["/id"], &nested(depth, "}]"), Ok(&[Some("1")]));
            for end in ["]}", "}}", "]]", "}", ""] {
                check(&["/id"], &nested(depth, end), Err(Malformed));
            }
        }
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for json in ["", "x", "{", "{}x", "\u{feff}{}", r#"{"id": 01}"#, r#"{"id" "a"}"#] {
            check(&["/id"], json, Err(Malformed));
        }
    }
}
