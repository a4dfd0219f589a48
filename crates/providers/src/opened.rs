//! The body of a delivery, opened as far as its definition asks. Invariant: everything borrows from the bytes that were signed
//! (or from the form field that was decoded out of them once).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use crate::definition::{Payload, Provider};
use crate::facts::{Facts, Form};
use crate::fields::{Fields, Found, Malformed, items};
use crate::request::SignedRequest;

pub(crate) struct Opened<'a> {
    provider: &'a Provider,
    request: &'a SignedRequest,
    pub(crate) form: Form<'a>,
    /// `None` where the body is a form without JSON in it.
    pub(crate) json: Option<Bytes>,
    xml: String,
}

impl<'a> Opened<'a> {
    pub(crate) fn new(provider: &'a Provider, request: &'a SignedRequest) -> Result<Self, Malformed> {
        let form = request.form();
        let payload = match &provider.definition.payload_field {
            Some(field) if request.is_form() => {
                let mut payloads = form.iter().filter(|(name, _)| name == field).map(|(_, payload)| payload);
                let payload = payloads.next().map(|payload| Bytes::copy_from_slice(payload.as_bytes()));
                if payloads.next().is_some() {
                    return Err(Malformed);
                }
                payload
            }
            Some(_) | None => (!request.is_form()).then(|| request.body.clone()),
        };
        match provider.definition.payload {
            Payload::Json => Ok(Self { provider, request, form, json: payload, xml: String::new() }),
            Payload::XmlBase64 => {
                let xml = payload.as_deref().and_then(xml_base64).ok_or(Malformed)?;
                Ok(Self { provider, request, form, json: None, xml })
            }
        }
    }

    pub(crate) fn facts<'o>(&'o self, root: &'o Found<'o>, item: &'o Found<'o>, now_s: i64) -> Facts<'o> {
        Facts { request: self.request, form: &self.form, xml: &self.xml, root, item, now_s }
    }

    /// The fields that are looked for in the whole body.
    pub(crate) fn root(&self) -> Result<Found<'_>, Malformed> {
        self.find(&self.provider.wanted.root, self.json.as_deref())
    }

    /// The events as they are written: one, unless the provider sends several at once. A replayed event of such a provider
    /// comes alone, as it was stored.
    pub(crate) fn items<'o>(&'o self, root: &'o Found<'o>, is_replay: bool) -> Result<Vec<&'o str>, Malformed> {
        let Some(events) = &self.provider.definition.event.events else { return Ok(vec![self.whole()]) };
        let facts = self.facts(root, root, 0);
        match events.json(&facts) {
            Some(array) if array.starts_with('[') => items(array),
            _ if is_replay => Ok(vec![self.whole()]),
            _ => Err(Malformed),
        }
    }

    /// The JSON as text; nothing where there is none, or where it is not UTF-8.
    pub(crate) fn whole(&self) -> &str {
        match self.json.as_deref().map(std::str::from_utf8) {
            Some(Ok(text)) => text,
            Some(Err(_)) | None => "",
        }
    }

    /// The fields that are looked for in one event.
    pub(crate) fn item<'o>(&'o self, item: &'o str) -> Result<Found<'o>, Malformed> {
        let json =
            if self.provider.definition.event.events.is_some() { Some(item.as_bytes()) } else { self.json.as_deref() };
        self.find(&self.provider.wanted.item, json)
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
