//! The time that a provider signs, and how far it may be from now. Invariant: it bounds replays and orders nothing, because a
//! provider makes a new one for every attempt.

use std::borrow::Cow;

use serde::Deserialize;

use crate::facts::{Facts, Wanted};
use crate::instant;
use crate::list::List;
use crate::place::Place;
use crate::rejection::Rejection;
use crate::settings::Settings;
use hookledger_json::Malformed;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignedTime {
    pub(crate) at: Place,
    #[serde(flatten)]
    pub(crate) list: List,
    #[serde(default)]
    unit: Unit,
    /// How old it may be, in seconds; exactly this old passes. Without it the time is signed and not checked.
    pub(crate) tolerance_s: Option<i64>,
    /// How far ahead it may be; the same as `tolerance_s` where it is not set.
    future_s: Option<i64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
enum Unit {
    #[default]
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "ms")]
    Millis,
    /// RFC 3339.
    #[serde(rename = "date")]
    Date,
}

impl SignedTime {
    pub(crate) fn bind(&mut self, wanted: &mut Wanted) -> Result<(), String> {
        self.at.bind(wanted)
    }

    pub(crate) fn is_in_body(&self) -> bool {
        self.at.is_in_body()
    }

    /// Whether nothing but its place in what is signed protects it.
    pub(crate) fn is_loose(&self) -> bool {
        self.at.headers().next().is_some()
    }

    /// The text that was signed.
    pub(crate) fn text<'a>(&'a self, facts: &Facts<'a>) -> Result<Option<Cow<'a, str>>, Malformed> {
        Ok(self.at.text(facts)?.and_then(|text| self.within(&text)))
    }

    /// As [`SignedTime::text`], of what stands at its place.
    pub(crate) fn within<'a>(&'a self, text: &Cow<'a, str>) -> Option<Cow<'a, str>> {
        match text {
            Cow::Borrowed(text) => self.list.items(text).next().map(Cow::Borrowed),
            Cow::Owned(text) => self.list.items(text).next().map(|item| Cow::Owned(item.to_owned())),
        }
    }

    /// A time as the provider would write it.
    pub(crate) fn print(&self, now_s: i64) -> String {
        match self.unit {
            Unit::Seconds => now_s.to_string(),
            Unit::Millis => now_s.saturating_mul(1000).to_string(),
            Unit::Date => jiff::Timestamp::from_second(now_s).unwrap_or_default().to_string(),
        }
    }

    pub(crate) fn check(&self, text: &str, settings: &Settings, now_s: i64) -> Result<(), Rejection> {
        let Some(past_s) = settings.tolerance_s.or(self.tolerance_s) else { return Ok(()) };
        let future_s = settings.tolerance_s.or(self.future_s).unwrap_or(past_s);
        let signed_ms = match self.unit {
            Unit::Seconds => instant::count(text).and_then(|seconds| seconds.checked_mul(1000)),
            Unit::Millis => instant::count(text),
            Unit::Date => instant::micros(text, instant::Unit::Seconds).map(|micros| micros.div_euclid(1000)),
        }
        .ok_or(Rejection::MalformedTimestamp)?;
        // In whole seconds, as the providers' own libraries compare.
        let age_s = i128::from(now_s) - i128::from(signed_ms.div_euclid(1000));
        let fresh = age_s <= i128::from(past_s) && -age_s <= i128::from(future_s);
        if fresh { Ok(()) } else { Err(Rejection::StaleTimestamp) }
    }
}
