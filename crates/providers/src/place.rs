//! Where in a delivery something stands. Invariant: of what stands at a place, text is given as received, or nothing.
//!
//! Written as `header:NAME`, `body:/json/pointer`, `form:FIELD`, `query:FIELD`, `text:CONSTANT` or `received:` (the
//! second of receipt, for signals that have no id and may be taken twice); several with ` | `
//! between them are alternatives, and the first that is there and not blank counts. In a body that carries several
//! events, `body:` points into one of them and `root:` into the whole.

use std::borrow::Cow;
use std::fmt;

use http::HeaderName;
use serde::Deserialize;

use crate::fields::{Fields, Found, Malformed, scalar};
use crate::request::SignedRequest;

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Place(Vec<At>);

#[derive(Debug, Clone)]
enum At {
    Header(HeaderName),
    Body { pointer: String, slot: usize },
    Root { pointer: String, slot: usize },
    Form(String),
    Query(String),
    Text(String),
    Received,
}

/// What a definition looks for in JSON: in the whole body, and in each event of a body that carries several.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) root: Fields,
    pub(crate) item: Fields,
}

/// A delivery, opened as far as a definition asks.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) request: &'a SignedRequest,
    pub(crate) form: &'a Form<'a>,
    pub(crate) root: &'a Found<'a>,
    pub(crate) item: &'a Found<'a>,
    pub(crate) now_s: i64,
}

/// The fields of a form body, percent-decoded once; empty for any other body.
pub(crate) type Form<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

impl<'a> Facts<'a> {
    /// What is known of a delivery before its body is opened.
    pub(crate) fn unopened(request: &'a SignedRequest, now_s: i64) -> Self {
        Self { request, form: const { &Vec::new() }, root: const { &Vec::new() }, item: const { &Vec::new() }, now_s }
    }
}

impl Place {
    /// Tells `wanted` which fields of the body this place needs.
    pub(crate) fn bind(&mut self, wanted: &mut Wanted) -> Result<(), String> {
        for at in &mut self.0 {
            let (fields, pointer, slot) = match at {
                At::Body { pointer, slot } => (&mut wanted.item, pointer, slot),
                At::Root { pointer, slot } => (&mut wanted.root, pointer, slot),
                At::Header(_) | At::Form(_) | At::Query(_) | At::Text(_) | At::Received => continue,
            };
            *slot = fields.add(pointer).ok_or("too many fields of one object")?;
        }
        Ok(())
    }

    /// The first alternative that is there and not blank.
    pub(crate) fn text<'a>(&'a self, facts: &Facts<'a>) -> Result<Option<Cow<'a, str>>, Malformed> {
        for at in &self.0 {
            if let Some(text) = at.text(facts)?.filter(|text| !text.trim().is_empty()) {
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
        self.0.iter().find_map(|at| at.json(facts))
    }

    /// The one header, if this is a place in a header.
    pub(crate) fn headers(&self) -> impl Iterator<Item = &HeaderName> {
        self.0.iter().filter_map(|at| match at {
            At::Header(name) => Some(name),
            At::Body { .. } | At::Root { .. } | At::Form(_) | At::Query(_) | At::Text(_) | At::Received => None,
        })
    }

    /// The form fields that are named.
    pub(crate) fn form_fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|at| match at {
            At::Form(field) => Some(field.as_str()),
            At::Header(_) | At::Body { .. } | At::Root { .. } | At::Query(_) | At::Text(_) | At::Received => None,
        })
    }

    /// Whether JSON has to be read to look there.
    pub(crate) fn is_in_json(&self) -> bool {
        self.0.iter().any(|at| matches!(at, At::Body { .. } | At::Root { .. }))
    }

    /// Whether the body has to be opened to look there.
    pub(crate) fn is_in_body(&self) -> bool {
        self.0.iter().any(|at| matches!(at, At::Body { .. } | At::Root { .. } | At::Form(_)))
    }
}

impl At {
    fn text<'a>(&'a self, facts: &Facts<'a>) -> Result<Option<Cow<'a, str>>, Malformed> {
        match self {
            Self::Header(name) => header(facts.request, name),
            Self::Body { .. } | Self::Root { .. } => self.json(facts).map_or(Ok(None), scalar),
            Self::Form(field) => one(facts.form.iter().filter(|(name, _)| name == field).map(|(_, value)| value.clone())),
            Self::Query(field) => {
                let query = facts.request.query.as_deref().unwrap_or_default();
                one(form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == field).map(|(_, value)| value))
            }
            Self::Text(text) => Ok(Some(Cow::Borrowed(text))),
            Self::Received => Ok(Some(Cow::Owned(facts.now_s.to_string()))),
        }
    }

    fn json<'a>(&self, facts: &Facts<'a>) -> Option<&'a str> {
        match self {
            Self::Body { slot, .. } => facts.item.get(*slot).copied().flatten(),
            Self::Root { slot, .. } => facts.root.get(*slot).copied().flatten(),
            Self::Header(_) | Self::Form(_) | Self::Query(_) | Self::Text(_) | Self::Received => None,
        }
    }
}

/// A header that comes twice, or is not UTF-8, is refused: which of the two would count is anybody's guess.
fn header<'a>(request: &'a SignedRequest, name: &HeaderName) -> Result<Option<Cow<'a, str>>, Malformed> {
    let mut values = request.headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = std::str::from_utf8(value.as_bytes()).map_err(|_| Malformed)?;
    if values.next().is_some() { Err(Malformed) } else { Ok(Some(Cow::Borrowed(text))) }
}

fn one<'a>(mut values: impl Iterator<Item = Cow<'a, str>>) -> Result<Option<Cow<'a, str>>, Malformed> {
    let first = values.next();
    if values.next().is_some() { Err(Malformed) } else { Ok(first) }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, at) in self.0.iter().enumerate() {
            if n > 0 {
                f.write_str(" or ")?;
            }
            match at {
                At::Header(name) => write!(f, "header {name}"),
                At::Body { pointer, .. } | At::Root { pointer, .. } => write!(f, "{pointer}"),
                At::Form(field) => write!(f, "form field {field}"),
                At::Query(field) => write!(f, "query field {field}"),
                At::Text(text) => write!(f, "{text:?}"),
                At::Received => f.write_str("time of receipt"),
            }?;
        }
        Ok(())
    }
}

impl TryFrom<String> for Place {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.split(" | ").map(At::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl At {
    fn parse(text: &str) -> Result<Self, String> {
        let (sort, name) = text.split_once(':').unwrap_or((text, ""));
        let pointer = || match name {
            "" => Ok(String::new()),
            pointer if pointer.starts_with('/') && !pointer.contains('~') => Ok(pointer.to_owned()),
            _ => Err(format!("{text:?} is no JSON pointer: it begins with \"/\"")),
        };
        match sort {
            "header" => name.parse().map(Self::Header).map_err(|_| format!("{text:?} names no header")),
            "body" => Ok(Self::Body { pointer: pointer()?, slot: 0 }),
            "root" => Ok(Self::Root { pointer: pointer()?, slot: 0 }),
            "form" => Ok(Self::Form(name.to_owned())),
            "query" => Ok(Self::Query(name.to_owned())),
            "text" => Ok(Self::Text(name.to_owned())),
            "received" => Ok(Self::Received),
            _ => Err(format!("{text:?} is no place: header:, body:/, root:/, form:, query:, text: or received:")),
        }
    }
}
