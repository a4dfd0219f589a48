//! The members of arrays and objects, as they are written.

use std::borrow::Cow;

use crate::fields::Malformed;
use crate::scan::{Inside, after_value, key};
use crate::text::unescaped;

/// The items of an array, which begins with its bracket and ends with it.
pub fn items(json: &str) -> Result<Vec<&str>, Malformed> {
    let inner = json.strip_prefix('[').ok_or(Malformed)?;
    let mut items = Vec::new();
    let (mut more, mut rest) = Inside::Array.first(inner.as_bytes())?;
    while more {
        let after = after_value(rest)?;
        items.push(between(json, rest, after)?);
        (more, rest) = Inside::Array.next(after)?;
    }
    if rest.is_empty() { Ok(items) } else { Err(Malformed) }
}

/// Names and values of an object, which begins with its bracket and ends with it. `each` can refuse it as a whole.
pub fn members<'a>(
    json: &'a str,
    mut each: impl FnMut(Cow<'a, str>, &'a str) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    let inner = json.strip_prefix('{').ok_or(Malformed)?;
    let (mut more, mut rest) = Inside::Object.first(inner.as_bytes())?;
    while more {
        let (name, value) = key(rest)?;
        let text = std::str::from_utf8(name.text).map_err(|_| Malformed)?;
        let after = after_value(value)?;
        each(if name.escaped { unescaped(text)?.into() } else { text.into() }, between(json, value, after)?)?;
        (more, rest) = Inside::Object.next(after)?;
    }
    if rest.is_empty() { Ok(()) } else { Err(Malformed) }
}

/// From where `rest` begins to where `after` does, both of which go to the end of `json`.
fn between<'a>(json: &'a str, rest: &[u8], after: &[u8]) -> Result<&'a str, Malformed> {
    json.get(json.len() - rest.len()..json.len() - after.len()).ok_or(Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_given_as_they_are_written() {
        assert_eq!(items(r#"[ 1 , {"a": [2]},"]"]"#), Ok(vec!["1", r#"{"a": [2]}"#, r#""]""#]));
        assert_eq!(items("[]"), Ok(vec![]));
        for wrong in ["", "1", "{}", "[1] ", "[1", "[1,]", "[1 2]"] {
            assert_eq!(items(wrong), Err(Malformed), "{wrong}");
        }
    }

    #[test]
    fn members_have_their_names_read_and_their_values_as_they_are_written() {
        let all = |json| {
            let mut all = Vec::new();
            members(json, |name, value| {
                all.push((name.into_owned(), value));
                Ok(())
            })
            .map(|()| all)
        };
        let found = all(r#"{ "a" : "\n" , "\u0062\"":{"c": [1]},"é":null}"#);
        assert_eq!(found, Ok(vec![("a".into(), r#""\n""#), ("b\"".into(), r#"{"c": [1]}"#), ("é".into(), "null")]));
        assert_eq!(all("{}"), Ok(vec![]));
        for wrong in ["", "1", "[]", "{} ", r#"{"a":1"#, r#"{"a":1,}"#, r#"{"a" 1}"#, r#"{a:1}"#, r#"{"\ud800":1}"#] {
            assert_eq!(all(wrong), Err(Malformed), "{wrong}");
        }
        assert_eq!(members(r#"{"a":1}"#, |_, _| Err(Malformed)), Err(Malformed));
    }
}
