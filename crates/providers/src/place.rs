//! Where in a delivery something stands.
//!
//! Written as `header:NAME`, `body:/json/pointer`, `form:FIELD`, `query:FIELD`, `claim:HEADER/NAME`, `xml:/path`,
//! `text:CONSTANT` or `received:` (the second of receipt, for signals that have no id and may be taken twice). Several with
//! ` | ` between them are alternatives, and the first that is there and not blank counts. In a body that carries several
//! events, `body:` points into one of them and `root:` into the whole.

use std::borrow::Cow;
use std::fmt;

use http::HeaderName;
use serde::Deserialize;

use crate::at::At;
use crate::facts::{Facts, Wanted};
use hookledger_json::Malformed;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Place(Vec<At>);

impl Place {
    /// Tells `wanted` which fields of the body this place needs.
    pub(crate) fn bind(&mut self, wanted: &mut Wanted) -> Result<(), String> {
        self.0.iter_mut().try_for_each(|at| at.bind(wanted))
    }

    /// The first alternative that is there and not blank.
    pub(crate) fn text<'a>(&'a self, facts: &Facts<'a>) -> Result<Option<Cow<'a, str>>, Malformed> {
        for at in &self.0 {
            if let Some(text) = at.text(facts)?.filter(|text| !text.chars().all(char::is_whitespace)) {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    /// The first alternative that is there, blank or not: what is signed is signed as it is.
    pub(crate) fn signed_text<'a>(&'a self, facts: &Facts<'a>) -> Result<Option<Cow<'a, str>>, Malformed> {
        for at in &self.0 {
            if let Some(text) = at.text(facts)? {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    /// As [`Place::text`], but a number in a body does not count as text: an id that is a number is not the documented one.
    pub(crate) fn string<'a>(&'a self, facts: &Facts<'a>) -> Result<Option<Cow<'a, str>>, Malformed> {
        let unquoted = self.0.iter().any(|at| at.json(facts).is_some_and(|json| !json.starts_with('"') && json != "null"));
        if unquoted { Err(Malformed) } else { self.text(facts) }
    }

    /// The JSON that stands there.
    pub(crate) fn json<'a>(&self, facts: &Facts<'a>) -> Option<&'a str> {
        self.each_json(facts).next()
    }

    /// The JSON of every alternative that is there.
    pub(crate) fn each_json<'a>(&self, facts: &Facts<'a>) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter_map(|at| at.json(facts))
    }

    /// The headers that are named.
    pub(crate) fn headers(&self) -> impl Iterator<Item = &HeaderName> {
        self.0.iter().filter_map(At::header)
    }

    /// The form fields that are named.
    pub(crate) fn form_fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(At::form_field)
    }

    /// Whether it can be the same text for every delivery.
    pub(crate) fn is_constant(&self) -> bool {
        self.0.iter().any(|at| matches!(at, At::Text(_)))
    }

    /// Whether JSON has to be read to look there.
    pub(crate) fn is_in_json(&self) -> bool {
        self.0.iter().any(At::is_in_json)
    }

    /// Whether the body has to be opened to look there.
    pub(crate) fn is_in_body(&self) -> bool {
        self.0.iter().any(At::is_in_body)
    }
}

impl TryFrom<String> for Place {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.split(" | ").map(At::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, at) in self.0.iter().enumerate() {
            if n > 0 {
                f.write_str(" or ")?;
            }
            at.fmt(f)?;
        }
        Ok(())
    }
}
