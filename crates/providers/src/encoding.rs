//! How a signature is written. Invariant: one text only for one signature, but for the case of hexadecimal digits and for padding.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use smallvec::SmallVec;

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

/// A signature's bytes: of every HMAC and of Ed25519 they fit in place.
pub(crate) type Decoded = SmallVec<[u8; 64]>;

impl Encoding {
    /// `None` for what is not written so.
    pub(crate) fn decode(self, text: &str) -> Option<Decoded> {
        match self {
            Self::Hex => unhex(text.as_bytes()),
            Self::Base64 => {
                let mut bytes = Decoded::from_elem(0, base64::decoded_len_estimate(text.len()));
                let decoded = BASE64.decode_slice(text, &mut bytes).ok()?;
                bytes.truncate(decoded);
                Some(bytes)
            }
            Self::Text => Some(Decoded::from_slice(text.as_bytes())),
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

/// The value of each character that is a hexadecimal digit, and of every other one `u8::MAX`.
const DIGITS: [u8; 256] = {
    let mut digits = [u8::MAX; 256];
    let mut digit = 0;
    while digit < 16 {
        digits[b"0123456789abcdef"[digit] as usize] = digit as u8;
        digits[b"0123456789ABCDEF"[digit] as usize] = digit as u8;
        digit += 1;
    }
    digits
};

/// `None` for what is not whole bytes in hexadecimal. Without a branch for a digit, since there is one of these in every delivery.
fn unhex(text: &[u8]) -> Option<Decoded> {
    let (pairs, rest) = text.as_chunks();
    let mut digits = 0;
    let mut bytes = Decoded::from_elem(0, pairs.len());
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        let (high, low) = (DIGITS[usize::from(*high)], DIGITS[usize::from(*low)]);
        digits |= high | low;
        *byte = high << 4 | low;
    }
    (digits < 16 && rest.is_empty()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_is_whole_bytes_in_either_case() {
        assert_eq!(unhex(b"00fFA9a0").unwrap()[..], [0, 0xff, 0xa9, 0xa0]);
        assert!(unhex(b"").unwrap().is_empty());
        for bad in [&b"0"[..], b"abc", b"0g", b"g0", b"0 ", b"/0", b":0", b"@0", b"`0", b"\xff0", b"0x"] {
            assert_eq!(unhex(bad), None, "{bad:?}");
        }
    }
}
