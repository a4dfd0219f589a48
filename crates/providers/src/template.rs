//! The bytes that a provider signs, put together from the delivery. Invariant: every part is as received, never re-printed.
//!
//! `{body}`, `{timestamp}`, `{method}`, `{url}` and its forms, `{form_sorted}`, `{crc32}`, `{webhook_id}`, and any place such as
//! `{header:webhook-id}`; with a question mark (`{body:/reference?}`) it may be missing. `[Subject {body:/Subject}]` is there as a whole or not at all. All else stands
//! for itself.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use smallvec::SmallVec;

use crate::facts::{Facts, Wanted};
use crate::place::Place;
use crate::settings::Settings;
use crate::url;
use hookledger_json::Malformed;

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Template {
    parts: Vec<Part>,
    text: String,
}

#[derive(Debug, Clone)]
enum Part {
    Literal(String),
    Body,
    Timestamp,
    Method,
    Url(url::Form),
    /// Form fields, sorted by name and value, without repeats, names and values run together (Twilio).
    FormSorted,
    /// The CRC-32 of the body, in decimal (PayPal).
    Crc32,
    /// The source's `webhook_id` (PayPal).
    WebhookId,
    Place {
        place: Place,
        optional: bool,
    },
    /// There only where its place is.
    Group {
        before: String,
        place: Place,
        after: String,
    },
}

/// What is signed, in parts: of most templates they fit in place.
pub(crate) type Parts<'a> = SmallVec<[Cow<'a, [u8]>; 6]>;

impl Template {
    pub(crate) fn bind(&mut self, wanted: &mut Wanted) -> Result<(), String> {
        for part in &mut self.parts {
            if let Part::Place { place, .. } | Part::Group { place, .. } = part {
                place.bind(wanted)?;
            }
        }
        Ok(())
    }

    /// The parts in order; `None` where one is missing.
    // Else they are put together in one place and moved to another.
    #[inline(always)]
    pub(crate) fn fill<'a>(
        &'a self,
        facts: &Facts<'a>,
        settings: &Settings,
        timestamp: &'a str,
    ) -> Result<Option<Parts<'a>>, Malformed> {
        let mut parts = Parts::with_capacity(self.parts.len());
        for part in &self.parts {
            let bytes = match part {
                Part::Literal(text) => Cow::Borrowed(text.as_bytes()),
                Part::Body => Cow::Borrowed(facts.request.body.as_ref()),
                Part::Timestamp => Cow::Borrowed(timestamp.as_bytes()),
                Part::Method => Cow::Borrowed(facts.request.method.as_str().as_bytes()),
                Part::Url(form) => Cow::Owned(form.of(settings, facts.request).into_bytes()),
                Part::FormSorted => Cow::Owned(form_sorted(facts)),
                Part::Crc32 => Cow::Owned(crc32fast::hash(&facts.request.body).to_string().into_bytes()),
                Part::WebhookId => Cow::Owned(settings.webhook_id.clone().unwrap_or_default().into_bytes()),
                Part::Place { place, optional } => match place.signed_text(facts)? {
                    Some(Cow::Borrowed(text)) => Cow::Borrowed(text.as_bytes()),
                    Some(Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
                    None if *optional => Cow::Borrowed(&[][..]),
                    None => return Ok(None),
                },
                Part::Group { before, place, after } => match place.signed_text(facts)? {
                    Some(text) => Cow::Owned(format!("{before}{text}{after}").into_bytes()),
                    None => Cow::Borrowed(&[][..]),
                },
            };
            parts.push(bytes);
        }
        Ok(Some(parts))
    }

    pub(crate) fn is_in_body(&self) -> bool {
        let in_body =
            |part: &Part| matches!(part, Part::Place { place, .. } | Part::Group { place, .. } if place.is_in_body());
        self.parts.iter().any(|part| in_body(part) || matches!(part, Part::FormSorted))
    }

    /// Whether the body is signed, itself or by what stands for it.
    pub(crate) fn covers_body(&self, payload_field: Option<&str>) -> bool {
        let is_payload = |place: &Place| payload_field.is_some_and(|field| place.form_fields().any(|name| name == field));
        let payload = |part: &Part| matches!(part, Part::Place { place, optional: false } if is_payload(place));
        self.parts.iter().any(|part| matches!(part, Part::Body | Part::FormSorted) || payload(part))
    }

    pub(crate) fn has_form(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::FormSorted))
    }

    pub(crate) fn has_timestamp(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Timestamp))
    }

    pub(crate) fn needs_public_url(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Url(_)))
    }

    pub(crate) fn needs_webhook_id(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::WebhookId))
    }
}

fn form_sorted(facts: &Facts<'_>) -> Vec<u8> {
    let mut fields: Vec<_> = facts.form.iter().map(|(name, value)| (name.as_ref(), value.as_ref())).collect();
    fields.sort_unstable();
    fields.dedup();
    fields.into_iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]).collect::<Vec<_>>().concat()
}

impl TryFrom<String> for Template {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while let Some((before, group)) = rest.split_once('[') {
            parts.extend(Self::parts(before)?);
            let (group, after) =
                group.split_once(']').ok_or_else(|| format!("{text:?} has a bracket that is not closed"))?;
            parts.push(Part::group(group).ok_or_else(|| format!("{text:?}: between brackets stands one place"))?);
            rest = after;
        }
        parts.extend(Self::parts(rest)?);
        Ok(Self { parts, text })
    }
}

impl Template {
    fn parts(text: &str) -> Result<Vec<Part>, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or_else(|| format!("{text:?} has a brace that is not closed"))?;
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            }
            parts.push(Part::parse(name)?);
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Ok(parts)
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Part {
    fn group(text: &str) -> Option<Self> {
        let (before, rest) = text.split_once('{')?;
        let (place, after) = rest.split_once('}')?;
        let place = Place::try_from(place.to_owned()).ok()?;
        (!after.contains('{')).then(|| Self::Group { before: before.to_owned(), place, after: after.to_owned() })
    }

    fn parse(name: &str) -> Result<Self, String> {
        Ok(match name {
            "body" => Self::Body,
            "timestamp" => Self::Timestamp,
            "method" => Self::Method,
            "url" => Self::Url(url::Form::AsConfigured),
            "url_with_port" => Self::Url(url::Form::WithPort),
            "url_without_port" => Self::Url(url::Form::WithoutPort),
            "url_unescaped" => Self::Url(url::Form::Unescaped),
            "form_sorted" => Self::FormSorted,
            "crc32" => Self::Crc32,
            "webhook_id" => Self::WebhookId,
            _ => {
                let (place, optional) = name.strip_suffix('?').map_or((name, false), |place| (place, true));
                Self::Place { place: Place::try_from(place.to_owned())?, optional }
            }
        })
    }
}
