//! One spot in a delivery. Invariant: text is given as received, or not at all; never a choice between two.

use std::borrow::Cow;
use std::fmt;

use http::HeaderName;

use crate::facts::{Facts, Wanted};
use crate::request::SignedRequest;
use crate::{jwt, xml};
use hookledger_json::{Malformed, scalar};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum At {
    Header(HeaderName),
    Body {
        pointer: String,
        slot: usize,
    },
    Root {
        pointer: String,
        slot: usize,
    },
    Form(String),
    Query(String),
    /// A claim of the JSON Web Token in a header.
    Claim {
        header: HeaderName,
        claim: String,
    },
    /// The text of an element; a star in its path stands for any name.
    Xml(Vec<String>),
    Text(String),
    /// The second of receipt.
    Received,
}

impl At {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (sort, name) = text.split_once(':').unwrap_or((text, ""));
        let header = |name: &str| name.parse::<HeaderName>().map_err(|_| format!("{text:?} names no header"));
        let pointer = || match name {
            pointer if pointer.is_empty() || (pointer.starts_with('/') && !pointer.contains('~')) => Ok(pointer.to_owned()),
            _ => Err(format!("{text:?} is no JSON pointer: it begins with \"/\"")),
        };
        match sort {
            "header" => Ok(Self::Header(header(name)?)),
            "body" => Ok(Self::Body { pointer: pointer()?, slot: 0 }),
            "root" => Ok(Self::Root { pointer: pointer()?, slot: 0 }),
            "form" => Ok(Self::Form(name.to_owned())),
            "query" => Ok(Self::Query(name.to_owned())),
            "claim" => match name.split_once('/') {
                Some((name, claim)) => Ok(Self::Claim { header: header(name)?, claim: claim.to_owned() }),
                None => Err(format!("{text:?} is no claim: claim:HEADER/NAME")),
            },
            "xml" => Ok(Self::Xml(name.split('/').skip(1).map(str::to_owned).collect())),
            "text" => Ok(Self::Text(name.to_owned())),
            "received" => Ok(Self::Received),
            _ => Err(format!(
                "{text:?} is no place: header:, body:/, root:/, form:, query:, claim:, xml:/, text: or received:"
            )),
        }
    }

    pub(crate) fn bind(&mut self, wanted: &mut Wanted) -> Result<(), String> {
        let (fields, pointer, slot) = match self {
            Self::Body { pointer, slot } => (&mut wanted.item, pointer, slot),
            Self::Root { pointer, slot } => (&mut wanted.root, pointer, slot),
            Self::Header(_)
            | Self::Form(_)
            | Self::Query(_)
            | Self::Claim { .. }
            | Self::Xml(_)
            | Self::Text(_)
            | Self::Received => {
                return Ok(());
            }
        };
        *slot = fields.add(pointer).ok_or("too many fields of one object")?;
        Ok(())
    }

    pub(crate) fn text<'a>(&'a self, facts: &Facts<'a>) -> Result<Option<Cow<'a, str>>, Malformed> {
        match self {
            Self::Header(name) => header(facts.request, name),
            Self::Body { .. } | Self::Root { .. } => self.json(facts).map_or(Ok(None), scalar),
            Self::Form(field) => one(facts.form.iter().filter(|(name, _)| name == field).map(|(_, value)| value.clone())),
            Self::Query(field) => {
                let query = facts.request.query.as_deref().unwrap_or_default();
                one(form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == field).map(|(_, value)| value))
            }
            Self::Claim { header: name, claim } => match header(facts.request, name)? {
                Some(token) => jwt::claim(&token, claim).map(|text| text.map(Cow::Owned)),
                None => Ok(None),
            },
            Self::Xml(path) => Ok(xml::text(facts.xml, path)),
            Self::Text(text) => Ok(Some(Cow::Borrowed(text))),
            Self::Received => Ok(Some(Cow::Owned(facts.now_s.to_string()))),
        }
    }

    /// The JSON that stands there.
    pub(crate) fn json<'a>(&self, facts: &Facts<'a>) -> Option<&'a str> {
        let (found, slot) = match self {
            Self::Body { slot, .. } => (facts.item, slot),
            Self::Root { slot, .. } => (facts.root, slot),
            Self::Header(_)
            | Self::Form(_)
            | Self::Query(_)
            | Self::Claim { .. }
            | Self::Xml(_)
            | Self::Text(_)
            | Self::Received => {
                return None;
            }
        };
        found.get(*slot).copied().flatten()
    }

    pub(crate) fn header(&self) -> Option<&HeaderName> {
        if let Self::Header(name) = self { Some(name) } else { None }
    }

    pub(crate) fn form_field(&self) -> Option<&str> {
        if let Self::Form(field) = self { Some(field) } else { None }
    }

    pub(crate) fn is_in_json(&self) -> bool {
        matches!(self, Self::Body { .. } | Self::Root { .. })
    }

    pub(crate) fn is_in_body(&self) -> bool {
        self.is_in_json() || matches!(self, Self::Form(_) | Self::Xml(_))
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

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(f, "header {name}"),
            Self::Body { pointer, .. } | Self::Root { pointer, .. } if pointer.is_empty() => f.write_str("the item itself"),
            Self::Body { pointer, .. } | Self::Root { pointer, .. } => f.write_str(pointer),
            Self::Form(field) => write!(f, "form field {field}"),
            Self::Query(field) => write!(f, "query field {field}"),
            Self::Claim { header, claim } => write!(f, "claim {claim} of header {header}"),
            Self::Xml(path) => write!(f, "element /{}", path.join("/")),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Received => f.write_str("time of receipt"),
        }
    }
}
