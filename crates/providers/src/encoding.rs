//! How a signature is written. Invariant: one text only for one signature, but for the case of hexadecimal digits and for padding.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Encoding {
    #[default]
    Hex,
    Base64,
    /// As it is: for tokens.
    Text,
}

/// Padding or none, as signatures come with either; but one text only for one signature.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Encoding {
    /// `None` for what is not written so.
    pub(crate) fn decode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Hex => unhex(text.as_bytes()),
            Self::Base64 => BASE64.decode(text).ok(),
            Self::Text => Some(text.as_bytes().to_vec()),
        }
    }

    pub(crate) fn encode(self, bytes: &[u8]) -> String {
        match self {
            Self::Hex => hex::encode(bytes),
            Self::Base64 => BASE64.encode(bytes),
            Self::Text => String::from_utf8_lossy(bytes).into_owned(),
        }
    }
}

/// `None` for what is not whole bytes in hexadecimal. Without a branch for a digit, since there is one of these in every delivery.
fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |character: u8| match character {
        b'0'..=b'9' => character - b'0',
        b'a'..=b'f' => character - b'a' + 10,
        b'A'..=b'F' => character - b'A' + 10,
        _ => u8::MAX,
    };
    let (pairs, rest) = text.as_chunks();
    let mut all = rest.is_empty();
    let bytes = pairs.iter().map(|[high, low]| {
        let (high, low) = (digit(*high), digit(*low));
        all &= (high | low) < 16;
        high << 4 | low
    });
    let bytes = bytes.collect();
    all.then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_is_whole_bytes_in_either_case() {
        assert_eq!(unhex(b"00fFA9a0").unwrap(), [0, 0xff, 0xa9, 0xa0]);
        assert!(unhex(b"").unwrap().is_empty());
        for bad in [&b"0"[..], b"abc", b"0g", b"g0", b"0 ", b"/0", b":0", b"@0", b"`0", b"\xff0", b"0x"] {
            assert_eq!(unhex(bad), None, "{bad:?}");
        }
    }
}
