//! The body of a delivery, opened as far as its definition asks. Invariant: everything borrows from the bytes that were signed
//! (or from the form field that was decoded out of them once).

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::HeaderValue;
use smallvec::{SmallVec, smallvec};

use crate::definition::{Payload, Provider};
use crate::facts::{Facts, Form};
use crate::members::one_by_one;
use crate::place::Place;
use crate::request::{SignedRequest, is_form};
use hookledger_json::{Fields, Found, Malformed, items};

/// For what surrounds an array is repeated with each of its members.
const SPLIT_BYTES_MAX: usize = 32 << 20;

/// One in most deliveries.
pub(crate) type Items<'a> = SmallVec<[Cow<'a, Bytes>; 1]>;

pub(crate) struct Opened<'a> {
    provider: &'a Provider,
    request: &'a SignedRequest,
    pub(crate) content_type: Option<&'a HeaderValue>,
    pub(crate) is_form: bool,
    pub(crate) form: Form<'a>,
    /// `None` where the body is a form without JSON in it.
    pub(crate) json: Option<Cow<'a, Bytes>>,
    xml: String,
}

impl<'a> Opened<'a> {
    pub(crate) fn new(provider: &'a Provider, request: &'a SignedRequest) -> Result<Self, Malformed> {
        let content_type = request.content_type();
        let is_form = content_type.is_some_and(is_form);
        let form = if is_form { request.form() } else { Form::new() };
        let payload = match &provider.definition.payload_field {
            Some(field) if is_form => {
                let mut payloads = form.iter().filter(|(name, _)| name == field).map(|(_, payload)| payload);
                let payload = payloads.next().map(|payload| Cow::Owned(Bytes::copy_from_slice(payload.as_bytes())));
                if payloads.next().is_some() {
                    return Err(Malformed);
                }
                payload
            }
            Some(_) | None => (!is_form).then_some(Cow::Borrowed(&request.body)),
        };
        match provider.definition.payload {
            Payload::Json => Ok(Self { provider, request, content_type, is_form, form, json: payload, xml: String::new() }),
            Payload::XmlBase64 => {
                let xml = payload.and_then(|payload| xml_base64(&payload)).ok_or(Malformed)?;
                Ok(Self { provider, request, content_type, is_form, form, json: None, xml })
            }
        }
    }

    pub(crate) fn facts<'o>(&'o self, root: &'o [Option<&'o str>], item: &'o [Option<&'o str>], now_s: i64) -> Facts<'o> {
        Facts { request: self.request, form: &self.form, xml: &self.xml, root, item, now_s }
    }

    /// The fields that are looked for in the whole body.
    pub(crate) fn root(&self) -> Result<Found<'_>, Malformed> {
        self.find(&self.provider.wanted.root, self.json.as_ref().map(|json| json.as_ref().as_ref()))
    }

    /// The events as they are written: one, unless the provider sends several at once. A replayed event of such a provider
    /// comes alone, as it was stored.
    pub(crate) fn items(&self, root: &[Option<&str>], is_replay: bool) -> Result<Items<'_>, Malformed> {
        let (Some(events), Some(json)) = (&self.provider.definition.event.events, &self.json) else {
            return Ok(smallvec![self.whole()]);
        };
        let items = match events.json(&self.facts(root, root, 0)) {
            Some(array) if array.starts_with('[') => {
                items(array)?.into_iter().map(|item| Cow::Owned(json.slice_ref(item.as_bytes()))).collect()
            }
            Some(_) | None if is_replay => smallvec![self.whole()],
            Some(_) | None => return Err(Malformed),
        };
        self.provider.definition.event.split.iter().try_fold(items, |items, array| self.split(items, array, root))
    }

    /// The JSON; nothing where there is none.
    pub(crate) fn whole(&self) -> Cow<'_, Bytes> {
        self.json.as_ref().map_or_else(Cow::default, |json| Cow::Borrowed(json.as_ref()))
    }

    /// The fields that are looked for in one event.
    pub(crate) fn item<'o>(&self, item: &'o Bytes) -> Result<Found<'o>, Malformed> {
        self.find(&self.provider.wanted.item, self.json.as_ref().map(|_| &**item))
    }

    /// Each item as often as its arrays at this place have members, with one of them in it.
    fn split<'o>(&'o self, items: Items<'o>, arrays: &Place, root: &[Option<&str>]) -> Result<Items<'o>, Malformed> {
        let mut parts = Items::with_capacity(items.len());
        let mut bytes = 0;
        for item in items {
            let found = self.item(&item)?;
            let facts = self.facts(root, &found, 0);
            let arrays: Vec<&str> = arrays.each_json(&facts).filter(|json| json.starts_with('[')).collect();
            if arrays.is_empty() {
                parts.push(item);
                continue;
            }
            for part in one_by_one(&item, arrays)? {
                let part = part?;
                bytes += part.len();
                if bytes > SPLIT_BYTES_MAX {
                    return Err(Malformed);
                }
                parts.push(Cow::Owned(Bytes::from(part)));
            }
        }
        Ok(parts)
    }

    fn find<'o>(&self, fields: &Fields, json: Option<&'o [u8]>) -> Result<Found<'o>, Malformed> {
        match json {
            Some(json) if !fields.is_empty() => match fields.find(json) {
                Err(Malformed) if self.provider.definition.json_optional => Ok(fields.nothing()),
                found => found,
            },
            Some(_) | None => Ok(fields.nothing()),
        }
    }
}

/// Braintree wraps its base64 into lines.
fn xml_base64(payload: &[u8]) -> Option<String> {
    let unwrapped: Vec<u8> = payload.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    String::from_utf8(STANDARD.decode(unwrapped).ok()?).ok()
}
