//! Names and keys of an event. Invariant: a value of these types fits its column in the ledger.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::state::UnknownWord;

/// Longest event id in bytes. Longer ones are refused with 400: a key that is cut short would merge two events.
pub const EVENT_ID_BYTES_MAX: usize = 255;
/// Longest source name in bytes; it is part of a URL and of every key.
const SOURCE_NAME_BYTES_MAX: usize = 64;

/// Why a name or id cannot be a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    #[error("a source name is 1 to 64 of a-z, 0-9, '-' and '_'")]
    Source,
    #[error("an event id is 1 to 255 bytes without control characters")]
    EventId,
}

/// The name of a webhook source: the last segment of its URL, and a key of `sources.toml`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SourceName(String);

impl SourceName {
    pub fn new(name: impl Into<String>) -> Result<Self, InvalidName> {
        let name = name.into();
        let fits = (1..=SOURCE_NAME_BYTES_MAX).contains(&name.len());
        let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_');
        if fits && plain { Ok(Self(name)) } else { Err(InvalidName::Source) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a control character stands in a text (Unicode's category Cc), which is to become a key, a column or a log field.
pub fn has_control(text: &str) -> bool {
    // What is plain ASCII, as most is, is known without taking it apart.
    let plain = text.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~'));
    !plain && text.chars().any(char::is_control)
}

/// The provider's id of an event: the same at every delivery of it, different for every other event of the source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EventId(String);

impl EventId {
    pub fn new(id: impl Into<String>) -> Result<Self, InvalidName> {
        let id = id.into();
        let fits = (1..=EVENT_ID_BYTES_MAX).contains(&id.len());
        if fits && !has_control(&id) { Ok(Self(id)) } else { Err(InvalidName::EventId) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! string_conversions {
    ($($name:ident),*) => {$(
        impl TryFrom<String> for $name {
            type Error = InvalidName;
            fn try_from(text: String) -> Result<Self, InvalidName> {
                Self::new(text)
            }
        }
        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}
string_conversions!(SourceName, EventId);

/// What travels on the queue: the key of a ledger row, never its content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventRef {
    pub source: SourceName,
    pub event_id: EventId,
}

/// The object that an event is about, as far as the provider names one. Part of the version guard's key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectKey {
    /// The account the object belongs to (Stripe Connect account, Shopify shop), empty for one's own.
    pub account: String,
    /// The provider's word for the sort of object, such as `subscription`.
    pub kind: String,
    pub id: String,
}

/// How an event came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    Webhook,
    Replay,
    Spill,
}

impl Via {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Replay => "replay",
            Self::Spill => "spill",
        }
    }
}

impl std::str::FromStr for Via {
    type Err = UnknownWord;
    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "webhook" => Ok(Self::Webhook),
            "replay" => Ok(Self::Replay),
            "spill" => Ok(Self::Spill),
            other => Err(UnknownWord { what: "via", word: other.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_name_is_safe_in_a_url() {
        for good in ["stripe", "github-org_2", "a"] {
            assert_eq!(SourceName::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "Stripe", "a b", "a/b", "ä", &"x".repeat(65)] {
            assert_eq!(SourceName::new(bad), Err(InvalidName::Source), "{bad}");
        }
    }

    #[test]
    fn an_event_id_is_bounded_in_bytes_and_printable() {
        assert!(EventId::new("é".repeat(127)).is_ok());
        for bad in [String::new(), "é".repeat(128), "a\nb".into(), "a\0".into()] {
            assert_eq!(EventId::new(bad), Err(InvalidName::EventId));
        }
    }

    #[test]
    fn a_control_character_is_one_in_any_alphabet() {
        for plain in ["", " a~Z0", "é", "\u{a0}", "東京"] {
            assert!(!has_control(plain), "{plain:?}");
        }
        for control in ["\0", "a\u{1f}", "\u{7f}", "é\u{80}", "\u{9f}a"] {
            assert!(has_control(control), "{control:?}");
        }
    }

    #[test]
    fn a_reference_with_an_impossible_key_does_not_parse() {
        let good: EventRef = serde_json::from_str(r#"{"source":"stripe","event_id":"evt_1"}"#).unwrap();
        assert_eq!(good.event_id.as_str(), "evt_1");
        assert!(serde_json::from_str::<EventRef>(r#"{"source":"NO","event_id":"evt_1"}"#).is_err());
        assert!(serde_json::from_str::<EventRef>(r#"{"source":"stripe","event_id":""}"#).is_err());
    }
}
