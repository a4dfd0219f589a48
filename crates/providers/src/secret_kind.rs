//! How a secret's text becomes key bytes. Invariant: a text of the wrong kind is refused at the start with a sentence that says
//! which kind is wanted, because with it nothing would ever verify, or (a public key used as a secret) everything would.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hookledger_core::Secret;
use serde::Deserialize;
use sha1::{Digest, Sha1};
use std::collections::BTreeMap;

/// Secrets were cut to length by people: their last character may have bits too many.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SecretKind {
    #[serde(default)]
    decode: Decode,
    /// Taken off before decoding, the first that fits.
    #[serde(default)]
    strip: Vec<String>,
    /// Beginnings of other secrets that people mix up with this one, and what those are.
    #[serde(default)]
    refuse: BTreeMap<String, String>,
    /// The only length that a key can have, in bytes.
    bytes: Option<usize>,
    /// What is wanted and where to find it: one phrase.
    #[serde(default)]
    pub(crate) wanted: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Decode {
    /// The text's bytes as they are, including any prefix.
    #[default]
    Raw,
    Base64,
    Hex,
    /// The SHA-1 of the text (Braintree).
    Sha1,
}

/// A secret's text is not of the kind that the source's provider uses. Never shows the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusableSecret {
    #[error("the secret is empty")]
    Empty,
    #[error("the secret is {is}; wanted is {wanted}")]
    OtherKind { is: String, wanted: String },
    #[error("the secret is not {encoding}; wanted is {wanted}")]
    Undecodable { encoding: &'static str, wanted: String },
    #[error("the secret has {bytes} bytes instead of {expected}; wanted is {wanted}")]
    Length { bytes: usize, expected: usize, wanted: String },
}

impl SecretKind {
    pub(crate) fn decode(&self, text: &str) -> Result<Secret, UnusableSecret> {
        let text = text.trim_end();
        let wanted =
            || if self.wanted.is_empty() { "the provider's signing secret".to_owned() } else { self.wanted.clone() };
        if text.trim().is_empty() {
            return Err(UnusableSecret::Empty);
        }
        if let Some((_, is)) = self.refuse.iter().find(|(prefix, _)| text.starts_with(prefix.as_str())) {
            return Err(UnusableSecret::OtherKind { is: is.clone(), wanted: wanted() });
        }
        let text = self.strip.iter().find_map(|prefix| text.strip_prefix(prefix.as_str())).unwrap_or(text);
        let undecodable = |encoding| UnusableSecret::Undecodable { encoding, wanted: wanted() };
        let bytes = match self.decode {
            Decode::Raw => text.as_bytes().to_vec(),
            Decode::Base64 => BASE64.decode(text).map_err(|_| undecodable("base64"))?,
            Decode::Hex => hex::decode(text).map_err(|_| undecodable("hexadecimal"))?,
            Decode::Sha1 => Sha1::digest(text).to_vec(),
        };
        match self.bytes {
            Some(expected) if expected != bytes.len() => {
                Err(UnusableSecret::Length { bytes: bytes.len(), expected, wanted: wanted() })
            }
            Some(_) | None => Secret::new(bytes).map_err(|_| UnusableSecret::Empty),
        }
    }
}
