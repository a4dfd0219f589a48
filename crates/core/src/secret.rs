//! Bytes that must not be printed.

use std::fmt;
use std::sync::OnceLock;

use hmac::{Hmac, KeyInit};
use sha2::Sha256;

/// A signing secret or token, as bytes ready for the algorithm. `Debug` does not show it; there is no `Display`.
#[derive(Clone)]
pub struct Secret {
    bytes: Vec<u8>,
    /// As secret as the bytes.
    hmac_sha256: OnceLock<Box<Hmac<Sha256>>>,
}

/// An empty secret would verify everything an attacker signs with an empty key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a secret is empty")]
pub struct EmptySecret;

impl Secret {
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, EmptySecret> {
        let bytes = bytes.into();
        if bytes.is_empty() { Err(EmptySecret) } else { Ok(Self { bytes, hmac_sha256: OnceLock::new() }) }
    }

    pub fn expose(&self) -> &[u8] {
        &self.bytes
    }

    /// HMAC-SHA256 with this as its key, nothing hashed yet but the key itself: that is two blocks, and a small body has few.
    pub(crate) fn hmac_sha256(&self) -> Hmac<Sha256> {
        #[expect(clippy::expect_used, reason = "HMAC takes keys of any length (RFC 2104)")]
        let keyed = || Box::new(Hmac::new_from_slice(&self.bytes).expect("any key fits"));
        Hmac::clone(self.hmac_sha256.get_or_init(keyed))
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hmac::Mac;

    #[test]
    fn debug_does_not_show_it_and_empty_is_refused() {
        assert_eq!(format!("{:?}", Secret::new("hunter2").unwrap()), "Secret(…)");
        assert_eq!(Secret::new(""), Err(EmptySecret));
    }

    #[test]
    fn a_secret_stays_the_same_when_it_is_used() {
        let (used, unused) = (Secret::new("hunter2").unwrap(), Secret::new("hunter2").unwrap());
        assert_eq!(used.hmac_sha256().finalize().into_bytes(), used.clone().hmac_sha256().finalize().into_bytes());
        assert_eq!(used, unused);
        assert_ne!(used, Secret::new("hunter3").unwrap());
        assert_eq!(format!("{used:?}"), format!("{unused:?}"));
    }
}
